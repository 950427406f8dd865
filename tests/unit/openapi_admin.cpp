#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "api/admin_body.h"
#include "api/bearer.h"
#include "api/router.h"
#include "catch.h"
#include "openapi/document.h"
#include "openapi/errors.h"

using namespace petstore;
using nlohmann::json;

namespace {

openapi::Settings usual()
{
    openapi::Settings settings;
    settings.base = "/admin/v1";
    return settings;
}

json parsed(const openapi::Settings& settings = usual())
{
    return json::parse(openapi::admin_document(settings));
}

api::Method method_named(const std::string& name)
{
    return name == "get"     ? api::Method::get
           : name == "post"  ? api::Method::post
           : name == "put"   ? api::Method::put
           : name == "patch" ? api::Method::patch
                             : api::Method::del;
}

// "/accounts/{accountId}" → "/accounts/x"
std::string example_of(std::string path)
{
    const auto open = path.find('{');
    if (open != std::string::npos) {
        path.replace(open, path.find('}') + 1 - open, "x");
    }
    return path;
}

// Calls `visit` with id, path and description of each operation.
template <typename Visit>
void for_each_operation(const json& document, Visit&& visit)
{
    for (const auto& [path, item] : document["paths"].items()) {
        for (const auto& [method, operation] : item.items()) {
            CAPTURE(path, method);
            const std::string target = "/admin/v1" + example_of(path);
            const auto route =
                api::admin_route(method_named(method), target, "/admin/v1");
            visit(route.operation, path, operation);
        }
    }
}

}  // namespace

TEST_CASE("the admin document's example of a key has the issued form",
          "[openapi]")
{
    const json schemas = parsed()["components"]["schemas"];
    const std::string key =
        schemas["NewKey"]["allOf"][1]["properties"]["key"]["examples"][0];
    CHECK(api::key_form(key, "petstore") == api::KeyForm::issued);
    const std::string last4 =
        schemas["Key"]["properties"]["last4"]["examples"][0];
    CHECK(key.substr(key.size() - last4.size()) == last4);
}

TEST_CASE("the admin document has the operations of its router", "[openapi]")
{
    const json document = parsed();
    CHECK(document["openapi"] == "3.1.0");
    CHECK(document["servers"][0]["url"] == "/admin/v1");
    std::set<api::Operation> found;
    for_each_operation(document, [&](api::Operation id, const std::string& path,
                                     const json& operation) {
        CHECK(operation["operationId"] == std::string(api::to_string(id)));
        CHECK(operation.contains("requestBody") == api::has_admin_body(id));
        const bool has_id = path.find('{') != std::string::npos;
        CHECK(operation["responses"].contains("404") == has_id);
        const json& item = document["paths"][path];
        const bool is_get = item.contains("get") && item["get"] == operation;
        CHECK(operation["responses"].contains("304") == is_get);
        found.insert(id);
    });
    const auto first = static_cast<int>(api::Operation::list_accounts);
    const auto last = static_cast<int>(api::Operation::delete_plan);
    CHECK(found.size() == static_cast<std::size_t>(last - first + 1));
    CHECK(*found.begin() == api::Operation::list_accounts);
    CHECK(*found.rbegin() == api::Operation::delete_plan);
}

TEST_CASE("the admin document has each error of an operation", "[openapi]")
{
    auto settings = usual();
    settings.some_plans = true;
    settings.key_header = "X-API-Key";
    std::set<std::string> conflicts;
    for_each_operation(parsed(settings), [&](api::Operation id,
                                             const std::string&,
                                             const json& operation) {
        std::set<std::string> codes;
        for (const auto& error : openapi::errors_of(id, "X-API-Key")) {
            const json& response =
                operation["responses"][std::to_string(error.status)];
            CHECK(response["content"]["application/json"]["examples"].contains(
                std::string(error.code)));
            codes.emplace(error.code);
            if (error.status == 409) {
                conflicts.insert(std::string(error.code));
            }
        }
        CHECK(codes.count("insufficient_scope") == 1);
        CHECK(codes.count("invalid_parameter") == 1);
        CHECK(codes.count("outcome_unknown")
              == (operation["responses"].contains("200")
                          && !api::has_admin_body(id)
                      ? 0
                      : 1));
    });
    CHECK(conflicts
          == std::set<std::string>{"account_in_use", "already_rotated",
                                   "external_id_taken", "key_exists", "own_key",
                                   "plan_in_use", "too_many_plans"});
}

TEST_CASE("the admin document has no references to what is not there",
          "[openapi]")
{
    const json document = parsed();
    std::set<std::string> names;
    for (const auto& [kind, components] : document["components"].items()) {
        for (const auto& [name, component] : components.items()) {
            names.insert("#/components/" + kind + '/' + name);
        }
    }
    std::set<std::string> used;
    const std::string text = document.dump();
    for (std::size_t at = 0;
         (at = text.find("\"$ref\":\"", at)) != std::string::npos;) {
        at += 8;
        used.insert(text.substr(at, text.find('"', at) - at));
    }
    for (const auto& name : used) {
        CAPTURE(name);
        CHECK(names.count(name) == 1);
    }
    for (const auto& name : names) {
        CAPTURE(name);
        const bool is_scheme =
            name.find("securitySchemes") != std::string::npos;
        CHECK((used.count(name) == 1 || is_scheme));
    }
}

TEST_CASE("the admin document shows what its location sends", "[openapi]")
{
    auto settings = usual();
    CHECK_FALSE(parsed(settings).dump().find("X-RateLimit-Limit-Minute")
                != std::string::npos);
    settings.window_headers = true;
    settings.key_header = "X-API-Key";
    settings.cors_origin = "*";
    settings.base = "https://api.example/admin";
    const json document = parsed(settings);
    CHECK(
        document["components"]["headers"].contains("X-RateLimit-Limit-Minute"));
    CHECK(document["components"]["securitySchemes"]["apiKeyHeader"]["name"]
          == "X-API-Key");
    CHECK(document["security"].size() == 2);
    CHECK(document["paths"]["/keys"]["get"]["responses"]["200"]["headers"]
              .contains("Access-Control-Allow-Origin"));
    CHECK(document["components"]["headers"]["Location"]["example"]
              .get<std::string>()
              .substr(0, 26)
          == "https://api.example/admin/");
}
