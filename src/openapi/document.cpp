#include "document.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "../api/error.h"
#include "../api/page.h"
#include "../api/pet.h"
#include "../api/version.h"
#include "errors.h"
#include "openapi_files.h"  // template.json, usage.json

namespace petstore::openapi {

namespace {

using Json = nlohmann::ordered_json;
using api::Operation;

constexpr std::size_t kDateLength = 10;  // of an ISO 8601 time

constexpr std::string_view kRateHeaders[] = {
    "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"};
constexpr std::string_view kWindowHeaders[] = {
    "X-RateLimit-Limit-Minute",  "X-RateLimit-Remaining-Minute",
    "X-RateLimit-Reset-Minute",  "X-RateLimit-Limit-Day",
    "X-RateLimit-Remaining-Day", "X-RateLimit-Reset-Day",
    "X-RateLimit-Limit-Month",   "X-RateLimit-Remaining-Month",
    "X-RateLimit-Reset-Month"};
constexpr std::string_view kIetfHeaders[] = {"RateLimit-Policy", "RateLimit"};
constexpr std::string_view kCorsHeaders[] = {"Access-Control-Allow-Origin",
                                             "Access-Control-Expose-Headers"};
constexpr std::string_view kVary[] = {"Vary"};
constexpr std::string_view kSunset[] = {"Sunset"};

Json reference(std::string_view kind, std::string_view name)
{
    return {{"$ref",
             "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

class Builder {
public:
    explicit Builder(const Settings& settings)
        : settings_(settings),
          document_(Json::parse(std::string_view(k_template_json)))
    {}

    std::string build()
    {
        Json& components = document_["components"];
        document_["info"]["version"] = api::kVersion;
        document_["servers"] = Json::array(
            {{{"url", settings_.base}, {"description", "This store."}}});
        fill_schemas(components);
        fill_headers(components["headers"]);
        if (!settings_.key_header.empty()) {
            add_key_header(components["securitySchemes"]);
        }

        Json& paths = document_["paths"];
        complete(paths["/pets"]["get"], Operation::list_pets);
        complete(paths["/pets"]["post"], Operation::create_pet);
        complete(paths["/pets/{petId}"]["get"], Operation::get_pet);
        if (!settings_.usage_path.empty()) {
            add_usage();
        }
        return document_.dump();
    }

private:
    bool has_cors() const noexcept { return !settings_.cors_origin.empty(); }
    bool has_vary() const noexcept
    {
        return has_cors() && settings_.cors_origin != "*";
    }

    // Either of the two is enough.
    void add_key_header(Json& schemes)
    {
        schemes["apiKeyHeader"] = {
            {"type", "apiKey"},
            {"in", "header"},
            {"name", settings_.key_header},
            {"description", "The same API key, instead of `Authorization`."}};
        document_["security"].push_back({{"apiKeyHeader", Json::array()}});
    }

    void add_usage()
    {
        Json usage = Json::parse(std::string_view(k_usage_json));
        document_["tags"].push_back(std::move(usage["tag"]));
        document_["components"]["schemas"].update(usage["schemas"]);
        Json& path = document_["paths"][settings_.usage_path];
        path = std::move(usage["path"]);
        complete(path["get"], Operation::get_usage);
    }

    static void fill_schemas(Json& components)
    {
        using api::Status;
        Json& schemas = components["schemas"];
        for (const Status status :
             {Status::available, Status::pending, Status::sold}) {
            schemas["Status"]["enum"].push_back(api::to_string(status));
        }
        for (const char* schema : {"Pet", "NewPet"}) {
            schemas[schema]["properties"]["name"]["maxLength"] =
                api::kMaxNameLength;
        }
        Json& limit = components["parameters"]["limit"]["schema"];
        limit["maximum"] = api::kMaxPageLimit;
        limit["default"] = api::ListQuery{}.limit;
        components["parameters"]["cursor"]["example"] =
            api::encode_cursor(20, api::Status::available);
    }

    // Fills in examples that depend on the location, and removes headers that
    // it does not send.
    void fill_headers(Json& headers) const
    {
        const std::string& base = settings_.base;
        api::ListQuery query;
        query.status = api::Status::available;
        headers["Link"]["example"] = api::page_links(base, query, 20);
        headers["Location"]["example"] = base + "/pets/1";
        headers["Deprecation"]["example"] = settings_.deprecation;
        if (settings_.sunset) {
            headers["Sunset"]["example"] = api::http_date(*settings_.sunset);
        }
        headers["Successor"]["example"] = settings_.successor;
        headers["Access-Control-Allow-Origin"]["example"] =
            settings_.cors_origin;

        const auto keep = [&](bool sent, const auto& names) {
            for (const std::string_view name : names) {
                if (!sent) {
                    headers.erase(std::string(name));
                }
            }
        };
        keep(settings_.window_headers, kWindowHeaders);
        keep(settings_.ietf_headers, kIetfHeaders);
        keep(has_cors(), kCorsHeaders);
        keep(has_vary(), kVary);
        keep(settings_.sunset.has_value(), kSunset);
    }

    // Adds the errors, and the headers of all responses.
    void complete(Json& operation, Operation id) const
    {
        Json& responses = operation["responses"];
        for (const ErrorCase& error : errors_of(id)) {
            if (is_possible(error.code)) {
                add_error(responses[std::to_string(error.status)], error);
            }
        }
        for (auto& [status, response] : responses.items()) {
            response["headers"] = headers_of(id, std::stoi(status));
        }
        if (id == Operation::get_pet && settings_.sunset) {
            operation["x-deprecated-sunset"] =
                api::iso_time(*settings_.sunset).substr(0, kDateLength);
            auto& description =
                operation["description"].get_ref<std::string&>();
            description +=
                " From the date in `Sunset` on, this operation answers 410.";
        }
    }

    bool is_possible(std::string_view code) const noexcept
    {
        using api::ErrorCode;
        return (settings_.sunset || code != api::code_name(ErrorCode::gone))
               && (settings_.some_plans
                   || code != api::code_name(ErrorCode::plan_not_allowed));
    }

    static void add_error(Json& response, const ErrorCase& error)
    {
        if (response.is_null()) {
            response["description"] = description_of(error.status);
            Json& schema = response["content"]["application/json"]["schema"];
            schema["allOf"] = Json::array(
                {reference("schemas", "Error"),
                 {{"type", "object"},
                  {"properties",
                   {{"code", {{"type", "string"}, {"enum", Json::array()}}},
                    {"status",
                     {{"type", "integer"}, {"const", error.status}}}}}}});
        }
        Json& media = response["content"]["application/json"];
        media["schema"]["allOf"][1]["properties"]["code"]["enum"].push_back(
            error.code);
        media["examples"][std::string(error.code)]["value"] =
            Json::parse(error.body);
    }

    Json headers_of(Operation id, int status) const
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
        add_all(settings_.window_headers, kWindowHeaders);
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
            if (id == Operation::list_pets) {
                add("Link");
            }
            break;
        case 201:
            add("Location");
            add("Idempotent-Replayed");
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

    const Settings& settings_;
    Json document_;
};

}  // namespace

std::string document(const Settings& settings)
{
    return Builder(settings).build();
}

}  // namespace petstore::openapi
