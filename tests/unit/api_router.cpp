#include "api/router.h"

#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

constexpr char kPetsAllow[] = "GET, HEAD, POST, OPTIONS";
constexpr char kPetAllow[] = "GET, HEAD, OPTIONS";

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
        CHECK(result.resource == Resource::pets);
        CHECK(result.operation == operation);
        CHECK(result.allow == kPetsAllow);
        CHECK(result.pet_id.empty());
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
        CHECK(result.resource == Resource::pet);
        CHECK(result.operation == operation);
        CHECK(result.allow == kPetAllow);
        CHECK(result.pet_id == "42");
    }
}

TEST_CASE("any one segment may be the id of a pet", "[router]")
{
    for (const char* id : {"0", "abc", "-1", "9223372036854775808", " ", "pets",
                           "a b", "%", "\xC3\xA9", ".."}) {
        CAPTURE(id);
        const Route result =
            route(Method::get, std::string("/v1/pets/") + id, "/v1");
        CHECK(result.resource == Resource::pet);
    }
    CHECK(route(Method::get, "/v1/pets/a b", "/v1").pet_id == "a b");
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
            CHECK(result.resource == Resource::unknown);
            CHECK(result.operation == Operation::none);
            CHECK(result.allow.empty());
            CHECK(result.pet_id.empty());
        }
    }
}

TEST_CASE("any base path works", "[router]")
{
    CHECK(route(Method::get, "/api/store/v1/pets", "/api/store/v1").operation
          == Operation::list_pets);
    CHECK(route(Method::get, "/pets/7", "").pet_id == "7");
    CHECK(route(Method::get, "/v1/pets", "/api/v1").resource
          == Resource::unknown);
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
    CHECK(is_read(Operation::list_pets));
    CHECK(is_read(Operation::get_pet));
    CHECK_FALSE(is_read(Operation::create_pet));
}
