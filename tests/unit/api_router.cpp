#include "api/router.h"

#include <set>
#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

constexpr char kPetsAllow[] = "GET, HEAD, POST, OPTIONS";
constexpr char kPetAllow[] = "GET, HEAD, OPTIONS";

Route at(Method method, std::string_view path)
{
    return admin_route(method, path, "/admin/v1");
}

}  // namespace

TEST_CASE("the collection lists and creates", "[router]")
{
    const std::pair<Method, Operation> rows[] = {
        {Method::get, Operation::list_pets},
        {Method::head, Operation::list_pets},
        {Method::post, Operation::create_pet},
        {Method::options, Operation::none},
        {Method::put, Operation::none},
        {Method::patch, Operation::none},
        {Method::del, Operation::none},
        {Method::other, Operation::none},
    };
    for (const auto& [method, operation] : rows) {
        const Route result = route(method, "/v1/pets", "/v1");
        CAPTURE(static_cast<int>(method));
        CHECK_FALSE(result.is_document);
        CHECK(result.operation == operation);
        CHECK(result.allow == kPetsAllow);
        CHECK(result.id.empty());
    }
}

TEST_CASE("a pet can only be read", "[router]")
{
    const std::pair<Method, Operation> rows[] = {
        {Method::get, Operation::get_pet}, {Method::head, Operation::get_pet},
        {Method::post, Operation::none},   {Method::options, Operation::none},
        {Method::other, Operation::none},
    };
    for (const auto& [method, operation] : rows) {
        const Route result = route(method, "/v1/pets/42", "/v1");
        CAPTURE(static_cast<int>(method));
        CHECK_FALSE(result.is_document);
        CHECK(result.operation == operation);
        CHECK(result.allow == kPetAllow);
        CHECK(result.id == "42");
    }
}

TEST_CASE("any one segment may be the id of a pet", "[router]")
{
    for (const char* id : {"0", "abc", "-1", "9223372036854775808", " ", "pets",
                           "a b", "%", "\xC3\xA9", ".."}) {
        CAPTURE(id);
        const Route result =
            route(Method::get, std::string("/v1/pets/") + id, "/v1");
        CHECK(result.operation == Operation::get_pet);
    }
    CHECK(route(Method::get, "/v1/pets/a b", "/v1").id == "a b");
}

TEST_CASE("every other path is unknown", "[router]")
{
    for (const char* path : {"",
                             "/",
                             "/v1",
                             "/v1/",
                             "/v1/pet",
                             "/v1/petsx",
                             "/v1/pets/",
                             "/v1/pets//",
                             "/v1/pets//1",
                             "/v1/pets/1/",
                             "/v1/pets/1/2",
                             "/v1/pets/1/photo",
                             "/v1/pets/1/x",
                             "/v1/petss",
                             "/v1/store/inventory",
                             "/v1/user",
                             "/v1/pets;x",
                             "/v1/pets ",
                             "/v1/v1/pets",
                             "/v1/store/orders",
                             "/v1/Pets",
                             "/V1/pets",
                             "/v2/pets",
                             "/v11/pets",
                             "/pets",
                             "v1/pets",
                             "/x/v1/pets",
                             "/v1//pets",
                             "/v1pets"}) {
        for (const Method method : {Method::get, Method::head, Method::post,
                                    Method::options, Method::other}) {
            CAPTURE(path);
            const Route result = route(method, path, "/v1");
            CHECK_FALSE(result.is_document);
            CHECK(result.operation == Operation::none);
            CHECK(result.allow.empty());
            CHECK(result.id.empty());
        }
    }
}

TEST_CASE("any base path works", "[router]")
{
    CHECK(route(Method::get, "/api/store/v1/pets", "/api/store/v1").operation
          == Operation::list_pets);
    CHECK(route(Method::get, "/pets/7", "").id == "7");
    CHECK(route(Method::get, "/v1/pets", "/api/v1").allow.empty());
    CHECK(route(Method::get, "/v1/pets/pets", "/v1/pets").operation
          == Operation::list_pets);
}

TEST_CASE("operations by name and kind", "[router]")
{
    CHECK(to_string(Operation::list_pets) == "listPets");
    CHECK(to_string(Operation::create_pet) == "createPet");
    CHECK(to_string(Operation::get_pet) == "getPet");
    CHECK(to_string(Operation::none) == "-");
    CHECK(to_string(Operation::list_accounts) == "listAccounts");
    CHECK(to_string(Operation::get_account_usage) == "getAccountUsage");
    CHECK(to_string(Operation::rotate_key) == "rotateKey");
    CHECK(to_string(Operation::get_usage) == "getUsage");
    CHECK(operation_named("getUsage") == Operation::get_usage);
    CHECK(operation_named("listPets") == Operation::list_pets);
    CHECK(operation_named("nope") == Operation::none);
    CHECK(is_get(Operation::list_pets));
    CHECK(is_get(Operation::get_pet));
    CHECK_FALSE(is_get(Operation::create_pet));
}

TEST_CASE("each operation of the admin API has its method and path", "[api]")
{
    const struct {
        Method method;
        const char* path;
        Operation operation;
    } kRows[] = {
        {Method::get, "/accounts", Operation::list_accounts},
        {Method::post, "/accounts", Operation::create_account},
        {Method::get, "/accounts/a1", Operation::get_account},
        {Method::patch, "/accounts/a1", Operation::update_account},
        {Method::del, "/accounts/a1", Operation::delete_account},
        {Method::post, "/accounts/a1/unban", Operation::unban_account},
        {Method::post, "/accounts/a1/reset", Operation::reset_account},
        {Method::get, "/accounts/a1/usage", Operation::get_account_usage},
        {Method::get, "/usage", Operation::list_usage},
        {Method::get, "/keys", Operation::list_keys},
        {Method::post, "/keys", Operation::create_key},
        {Method::get, "/keys/a1", Operation::get_key},
        {Method::patch, "/keys/a1", Operation::update_key},
        {Method::del, "/keys/a1", Operation::delete_key},
        {Method::post, "/keys/a1/rotate", Operation::rotate_key},
        {Method::get, "/plans", Operation::list_plans},
        {Method::put, "/plans/a1", Operation::put_plan},
        {Method::del, "/plans/a1", Operation::delete_plan},
    };
    std::set<Operation> seen;
    for (const auto& [method, path, operation] : kRows) {
        CAPTURE(path);
        const std::string whole = std::string("/admin/v1") + path;
        const Route route = at(method, whole);
        CHECK(route.operation == operation);
        CHECK_FALSE(route.is_document);
        CHECK(route.id
              == (std::string_view(path).find("/a1") == std::string_view::npos
                      ? ""
                      : "a1"));
        if (method == Method::get) {
            CHECK(at(Method::head, whole).operation == operation);
        }
        seen.insert(operation);
    }
    CHECK(seen.size() == 18);
}

TEST_CASE("paths of the admin API that do not exist", "[api]")
{
    for (const char* path :
         {"/admin/v1", "/admin/v1/", "/admin/v1/nope", "/admin/v1/accounts/",
          "/admin/v1//accounts", "/admin/v1/accounts/a1/", "/admin/v2/accounts",
          "/admin/v1/accounts/a1/nope", "/admin/v1/accounts/a1/usage/x",
          "/admin/v1/keys/a1/unban", "/admin/v1/plans/a1/rotate",
          "/admin/v1/usage/a1", "/admin/v1accounts", "/v1/accounts",
          "/admin/v1/openapi.json/x", ""}) {
        CAPTURE(path);
        CHECK(at(Method::get, path).operation == Operation::none);
        CHECK(at(Method::get, path).allow.empty());
    }
}

TEST_CASE("methods of the admin API that a path does not have", "[api]")
{
    const Route plan = at(Method::get, "/admin/v1/plans/pro");
    CHECK(plan.operation == Operation::none);
    CHECK(plan.allow == "PUT, DELETE, OPTIONS");
    CHECK(at(Method::trace, "/admin/v1/keys").operation == Operation::none);
    CHECK(at(Method::put, "/admin/v1/keys").allow
          == "GET, HEAD, POST, OPTIONS");
}

TEST_CASE("the document of the admin API, and an empty base path", "[api]")
{
    CHECK(at(Method::get, "/admin/v1/openapi.json").is_document);
    CHECK(at(Method::post, "/admin/v1/openapi.json").allow
          == "GET, HEAD, OPTIONS");
    CHECK(admin_route(Method::get, "/keys/a1", "").operation
          == Operation::get_key);
}
