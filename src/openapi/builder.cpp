#include "builder.h"

#include <string>

#include "../api/error.h"
#include "../api/limit.h"
#include "errors.h"

namespace petstore::openapi {

namespace {

using api::Operation;

constexpr std::string_view kRateHeaders[] = {
    "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"};
constexpr std::string_view kIetfHeaders[] = {"RateLimit-Policy", "RateLimit"};
constexpr std::string_view kCorsHeaders[] = {"Access-Control-Allow-Origin",
                                             "Access-Control-Expose-Headers"};
constexpr std::string_view kVary[] = {"Vary"};
constexpr std::string_view kSunset[] = {"Sunset"};

bool has_pages(Operation id) noexcept
{
    return id == Operation::list_pets || id == Operation::list_accounts
           || id == Operation::list_keys || id == Operation::list_usage;
}

void add_error(Json& response, const ErrorCase& error, Operation id)
{
    if (response.is_null()) {
        response["description"] = description_of(error.status, id);
        Json& schema = response["content"]["application/json"]["schema"];
        schema["allOf"] = Json::array(
            {reference("schemas", "Error"),
             {{"type", "object"},
              {"properties",
               {{"code", {{"type", "string"}, {"enum", Json::array()}}},
                {"status", {{"type", "integer"}, {"const", error.status}}}}}}});
    }
    Json& media = response["content"]["application/json"];
    media["schema"]["allOf"][1]["properties"]["code"]["enum"].push_back(
        error.code);
    media["examples"][std::string(error.code)]["value"] =
        Json::parse(error.body);
}

}  // namespace

Json reference(std::string_view kind, std::string_view name)
{
    return {{"$ref",
             "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

void Builder::describe_access()
{
    document_["servers"] =
        Json::array({{{"url", settings_.base.empty() ? "/" : settings_.base},
                      {"description", "This store."}}});
    if (settings_.key_header.empty()) {
        return;
    }
    // Either of the two is enough.
    document_["components"]["securitySchemes"]["apiKeyHeader"] = {
        {"type", "apiKey"},
        {"in", "header"},
        {"name", settings_.key_header},
        {"description", "The same API key, instead of `Authorization`."}};
    document_["security"].push_back({{"apiKeyHeader", Json::array()}});
}

void Builder::complete_headers()
{
    Json& headers = document_["components"]["headers"];
    headers["Access-Control-Allow-Origin"]["example"] = settings_.cors_origin;
    const auto keep = [&](bool sent, const auto& names) {
        for (const std::string_view name : names) {
            if (!sent) {
                headers.erase(std::string(name));
            }
        }
    };
    keep(settings_.window_headers, api::kWindowHeaders);
    keep(settings_.ietf_headers, kIetfHeaders);
    keep(has_cors(), kCorsHeaders);
    keep(has_vary(), kVary);
    keep(settings_.sunset.has_value(), kSunset);
}

void Builder::complete_operations()
{
    for (Json& path : document_["paths"]) {
        for (Json& operation : path) {
            const std::string& name =
                operation["operationId"].get_ref<const std::string&>();
            complete(operation, api::operation_named(name));
        }
    }
}

void Builder::complete(Json& operation, Operation id) const
{
    Json& responses = operation["responses"];
    if (api::is_get(id)) {
        // nginx answers "If-None-Match: *".
        responses["304"]["description"] = description_of(304, id);
    }
    for (const ErrorCase& error : errors_of(id, settings_.key_header)) {
        if (is_possible(error.code)) {
            add_error(responses[std::to_string(error.status)], error, id);
        }
    }
    for (auto& [status, response] : responses.items()) {
        response["headers"] = headers_of(id, std::stoi(status));
    }
}

bool Builder::is_possible(std::string_view code) const noexcept
{
    using api::ErrorCode;
    return (settings_.sunset || code != api::code_name(ErrorCode::gone))
           && (settings_.some_plans
               || code != api::code_name(ErrorCode::plan_not_allowed));
}

Json Builder::headers_of(Operation id, int status) const
{
    Json headers = Json::object();
    const auto add = [&](std::string_view name,
                         std::string_view component = {}) {
        headers[std::string(name)] =
            reference("headers", component.empty() ? name : component);
    };
    const auto add_all = [&](bool sent, const auto& names) {
        for (const std::string_view name : names) {
            if (sent) {
                add(name);
            }
        }
    };
    add("Cache-Control");
    add_all(true, kRateHeaders);
    add_all(settings_.window_headers, api::kWindowHeaders);
    add_all(settings_.ietf_headers, kIetfHeaders);
    add_all(has_cors(), kCorsHeaders);
    add_all(has_vary(), kVary);
    if (id == Operation::get_pet) {
        add("Deprecation");
        add_all(settings_.sunset.has_value(), kSunset);
        add("Link", "Successor");
    }
    switch (status) {
    case 200:
    case 304:
        if (has_pages(id)) {
            add("Link");
        }
        break;
    case 201:
        add("Location");
        add("Idempotent-Replayed");
        break;
    case 204:
        if (id == Operation::unban_account || id == Operation::reset_account) {
            add("Idempotent-Replayed");
        }
        break;
    case 401:
        add("WWW-Authenticate");
        break;
    case 405:
        add("Allow");
        break;
    case 429:
    case 503:
        add("Retry-After");
        break;
    default:
        break;
    }
    return headers;
}

}  // namespace petstore::openapi
