#include "openapi/document.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "api/error.h"
#include "api/page.h"
#include "api/pet.h"
#include "api/router.h"
#include "catch.h"

using namespace petstore;
using nlohmann::json;

namespace {

openapi::Settings usual()
{
    openapi::Settings settings;
    settings.base = "/v1";
    settings.deprecation = "@1795219200";
    settings.sunset = 1922659200;  // 2030-12-05
    settings.successor =
        "</v1/pets?status=available>; rel=\"successor-version\"";
    return settings;
}

json parsed(const openapi::Settings& settings = usual())
{
    return json::parse(openapi::document(settings));
}

const json& operation(const json& whole, api::Operation operation)
{
    const json& paths = whole["paths"];
    switch (operation) {
    case api::Operation::list_pets:
        return paths["/pets"]["get"];
    case api::Operation::create_pet:
        return paths["/pets"]["post"];
    default:
        return paths["/pets/{petId}"]["get"];
    }
}

constexpr api::Operation kOperations[] = {api::Operation::list_pets,
                                          api::Operation::create_pet,
                                          api::Operation::get_pet};

// Calls `visit` with each object in `value`.
template <typename Visit>
void for_each_object(const json& value, Visit&& visit)
{
    if (value.is_object()) {
        visit(value);
    }
    if (value.is_structured()) {
        for (const json& child : value) {
            for_each_object(child, visit);
        }
    }
}

// The error codes in a response's schema.
std::set<std::string> codes_of(const json& response)
{
    return response["content"]["application/json"]["schema"]["allOf"][1]
                   ["properties"]["code"]["enum"];
}

// Those that no operation on pets returns.
bool is_of_administration(api::ErrorCode code)
{
    using api::ErrorCode;
    return code == ErrorCode::plan_not_allowed  // see some_plans
           || (code >= ErrorCode::external_id_taken
               && code <= ErrorCode::own_key);
}

std::set<std::string> headers_of(const json& response)
{
    std::set<std::string> names;
    for (const auto& [name, header] : response["headers"].items()) {
        names.insert(name);
    }
    return names;
}

}  // namespace

TEST_CASE("the document has the operations of the router", "[openapi]")
{
    const json whole = parsed();
    CHECK(whole["openapi"] == "3.1.0");
    CHECK(whole["paths"].size() == 2);
    CHECK(whole["paths"]["/pets"].size() == 2);
    CHECK(whole["paths"]["/pets/{petId}"].size() == 1);
    for (const auto id : kOperations) {
        const json& described = operation(whole, id);
        CHECK(described["operationId"] == std::string(to_string(id)));
        CHECK(described.value("deprecated", false)
              == (id == api::Operation::get_pet));
    }
}

TEST_CASE("every code is documented under its status", "[openapi]")
{
    const json whole = parsed();
    std::set<std::pair<std::string, int>> documented;
    for (const auto id : kOperations) {
        for (const auto& [status, response] :
             operation(whole, id)["responses"].items()) {
            CAPTURE(status);
            if (status[0] < '4') {
                continue;
            }
            const json& media = response["content"]["application/json"];
            CHECK_FALSE(response["description"].get<std::string>().empty());
            CHECK(codes_of(response).size() == media["examples"].size());
            for (const auto& code : codes_of(response)) {
                const json& example = media["examples"][code]["value"];
                CHECK(example["code"] == code);
                CHECK(example["status"] == std::stoi(status));
                CHECK(example["message"].get<std::string>().back() == '.');
                CHECK(example.size() == 3);
                documented.emplace(code, std::stoi(status));
            }
        }
    }
    using api::ErrorCode;
    const int last = static_cast<int>(ErrorCode::outcome_unknown);
    for (int i = 0; i <= last; ++i) {
        const auto code = static_cast<ErrorCode>(i);
        CAPTURE(api::code_name(code));
        CHECK(documented.count(
                  {std::string(api::code_name(code)), api::http_status(code)})
              == (is_of_administration(code) ? 0 : 1));
    }
    for (const int status :
         {401, 403, 404, 405, 408, 410, 413, 414, 415, 429,
          494, 495, 496, 497, 500, 501, 502, 503, 504, 505}) {
        CAPTURE(status);
        CHECK(documented.count({std::string(api::code_name_for_status(status)),
                                api::client_status(status)})
              == 1);
    }
}

TEST_CASE("what may be 200 for a GET may be 304", "[openapi]")
{
    const json whole = parsed();
    for (const auto id : kOperations) {
        CAPTURE(to_string(id));
        const json& responses = operation(whole, id)["responses"];
        REQUIRE(responses.contains("304")
                == (id != api::Operation::create_pet));
        if (responses.contains("304")) {
            CHECK_FALSE(responses["304"].contains("content"));
            CHECK_FALSE(
                responses["304"]["description"].get<std::string>().empty());
        }
    }
}

TEST_CASE("every response has the headers that it may have", "[openapi]")
{
    const json whole = parsed();
    for (const auto id : kOperations) {
        for (const auto& [status, response] :
             operation(whole, id)["responses"].items()) {
            CAPTURE(to_string(id), status);
            std::set<std::string> expected = {
                "Cache-Control", "X-RateLimit-Limit", "X-RateLimit-Remaining",
                "X-RateLimit-Reset"};
            if (id == api::Operation::get_pet) {
                expected.insert({"Deprecation", "Sunset", "Link"});
            }
            if ((status == "200" || status == "304")
                && id == api::Operation::list_pets) {
                expected.insert("Link");
            }
            if (status == "201") {
                expected.insert({"Location", "Idempotent-Replayed"});
            }
            if (status == "401") {
                expected.insert("WWW-Authenticate");
            }
            if (status == "405") {
                expected.insert("Allow");
            }
            if (status == "429" || status == "503") {
                expected.insert("Retry-After");
            }
            CHECK(headers_of(response) == expected);
        }
    }
}

TEST_CASE("references resolve and every component is used", "[openapi]")
{
    auto settings = usual();
    settings.window_headers = GENERATE(true, false);
    settings.ietf_headers = !settings.window_headers;
    if (settings.window_headers) {
        settings.cors_origin = "https://app.example.com";
    }
    const json whole = parsed(settings);
    std::set<std::string> used;
    for_each_object(whole, [&](const json& object) {
        if (object.contains("$ref")) {
            const std::string target = object["$ref"];
            CAPTURE(target);
            REQUIRE(target.substr(0, 2) == "#/");
            CHECK(whole.contains(json::json_pointer(target.substr(1))));
            used.insert(target);
        }
    });
    for (const auto& [kind, components] : whole["components"].items()) {
        for (const auto& [name, component] : components.items()) {
            CAPTURE(kind, name);
            if (kind != "securitySchemes") {
                CHECK(used.count("#/components/" + kind + "/" + name) == 1);
            }
        }
    }
}

TEST_CASE("the document states the limits of the code", "[openapi]")
{
    const json components = parsed()["components"];
    const json& limit = components["parameters"]["limit"]["schema"];
    CHECK(limit["minimum"] == 1);
    CHECK(limit["maximum"] == api::kMaxPageLimit);
    CHECK(limit["default"] == api::ListQuery{}.limit);
    const json& schemas = components["schemas"];
    CHECK(schemas["Status"]["enum"] == json({"available", "pending", "sold"}));
    for (const char* schema : {"Pet", "NewPet"}) {
        CHECK(schemas[schema]["properties"]["name"]["maxLength"]
              == api::kMaxNameLength);
    }
    CHECK(schemas["Pet"]["required"] == json({"id", "name", "categoryId"}));
    CHECK(schemas["NewPet"]["required"] == json({"name", "categoryId"}));
    CHECK(schemas["Error"]["required"] == json({"code", "message", "status"}));
}

TEST_CASE("the document describes the location that serves it", "[openapi]")
{
    auto settings = usual();
    settings.base = "https://api.example.com/shop/v1";
    const json elsewhere = parsed(settings);
    CHECK(elsewhere["servers"][0]["url"] == settings.base);
    const json& headers = elsewhere["components"]["headers"];
    CHECK(headers["Location"]["example"] == settings.base + "/pets/1");
    CHECK(headers["Link"]["example"].get<std::string>().rfind(
              "<" + settings.base + "/pets?", 0)
          == 0);

    SECTION("an operation with an end")
    {
        const json& get = operation(elsewhere, api::Operation::get_pet);
        CHECK(get["x-deprecated-sunset"] == "2030-12-05");
        CHECK(headers["Sunset"]["example"] == "Thu, 05 Dec 2030 00:00:00 GMT");
    }
    SECTION("an operation without an end")
    {
        settings.sunset.reset();
        const json endless = parsed(settings);
        const json& get = operation(endless, api::Operation::get_pet);
        CHECK_FALSE(get.contains("x-deprecated-sunset"));
        CHECK_FALSE(get["responses"].contains("410"));
        CHECK(get["description"].get<std::string>().find("410")
              == std::string::npos);
        CHECK(get["deprecated"] == true);
        CHECK(headers_of(get["responses"]["200"]).count("Sunset") == 0);
        CHECK(headers_of(get["responses"]["200"]).count("Deprecation") == 1);
    }
    SECTION("further headers where they are sent")
    {
        settings.window_headers = true;
        settings.cors_origin = "*";
        const json list =
            operation(parsed(settings), api::Operation::list_pets);
        const auto names = headers_of(list["responses"]["401"]);
        CHECK(names.count("X-RateLimit-Remaining-Day") == 1);
        CHECK(names.count("Access-Control-Expose-Headers") == 1);
        CHECK(names.count("Vary") == 0);
        CHECK(names.count("RateLimit") == 0);
    }
}

TEST_CASE("the document has the usage where it is configured", "[openapi]")
{
    auto settings = usual();
    settings.usage_path = "/usage";
    const json whole = parsed(settings);
    CHECK(whole["paths"].size() == 3);
    CHECK(whole["tags"].size() == 2);
    const json& described = whole["paths"]["/usage"]["get"];
    CHECK(described["operationId"] == to_string(api::Operation::get_usage));
    const auto& responses = described["responses"];
    for (const char* status : {"200", "304", "401", "405", "500", "503"}) {
        CAPTURE(status);
        CHECK(responses.contains(status));
        CHECK(headers_of(responses[status]).count("X-RateLimit-Limit") == 1);
    }
    // It has neither a scope nor a body, and is not charged.
    for (const char* status : {"404", "410", "413", "422"}) {
        CHECK_FALSE(responses.contains(status));
    }
    CHECK(codes_of(responses["429"])
          == std::set<std::string>{"rate_limit_exceeded", "too_many_requests"});
    CHECK(codes_of(responses["403"]) == std::set<std::string>{"forbidden"});
    CHECK(responses["429"]["description"] == "The server limits this client.");
    CHECK(responses["403"]["description"] == "The server refuses this client.");
    for_each_object(whole, [&](const json& object) {
        if (const auto found = object.find("$ref"); found != object.end()) {
            const std::string pointer = found->get<std::string>().substr(1);
            CHECK(whole.contains(json::json_pointer(pointer)));
        }
    });

    CHECK_FALSE(parsed()["components"]["schemas"].contains("Usage"));
}

TEST_CASE("the document has what a location asks of keys", "[openapi]")
{
    auto settings = usual();
    CHECK(parsed(settings)["security"].size() == 1);
    settings.key_header = "X-API-Key";
    settings.some_plans = true;
    const json whole = parsed(settings);
    CHECK(whole["security"]
          == json::parse(R"([{"apiKey":[]},{"apiKeyHeader":[]}])"));
    const json& scheme = whole["components"]["securitySchemes"]["apiKeyHeader"];
    CHECK(scheme["type"] == "apiKey");
    CHECK(scheme["in"] == "header");
    CHECK(scheme["name"] == "X-API-Key");
    for (const auto id : kOperations) {
        const auto codes = codes_of(operation(whole, id)["responses"]["403"]);
        CHECK(codes.count("plan_not_allowed") == 1);
    }
}
