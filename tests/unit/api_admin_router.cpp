#include "api/admin_router.h"

#include <set>
#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

AdminRoute at(Method method, std::string_view path)
{
    return admin_route(method, path, "/admin/v1");
}

}  // namespace

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
        const AdminRoute route = at(method, whole);
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
    const AdminRoute plan = at(Method::get, "/admin/v1/plans/pro");
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
