#include "document.h"

#include <utility>

#include "../api/page.h"
#include "../api/pet.h"
#include "../api/version.h"
#include "builder.h"
#include "openapi_files.h"  // template.json, usage.json, admin.json

namespace petstore::openapi {

namespace {

void add_usage(const std::string& path_name, Json& document)
{
    Json usage = Json::parse(std::string_view(k_usage_json));
    document["tags"].push_back(std::move(usage["tag"]));
    document["components"]["schemas"].update(usage["schemas"]);
    document["paths"][path_name] = std::move(usage["path"]);
}

void fill_schemas(Json& components)
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

// Fills in examples that depend on the location.
void fill_headers(const Settings& settings, Json& headers)
{
    const std::string& base = settings.base;
    api::ListQuery query;
    query.status = api::Status::available;
    headers["Link"]["example"] = api::page_links(base, query, 20);
    headers["Location"]["example"] = base + "/pets/1";
    headers["Deprecation"]["example"] = settings.deprecation;
    if (settings.sunset) {
        headers["Sunset"]["example"] = api::http_date(*settings.sunset);
    }
    headers["Successor"]["example"] = settings.successor;
}

void announce_end(const Settings& settings, Json& operation)
{
    operation["x-deprecated-sunset"] =
        api::iso_date(api::day_of(*settings.sunset));
    operation["description"].get_ref<std::string&>() +=
        " From the date in `Sunset` on, this operation answers 410.";
}

}  // namespace

std::string document(const Settings& settings)
{
    Json document = Json::parse(std::string_view(k_template_json));
    Json& components = document["components"];
    Builder builder(settings, document);
    document["info"]["version"] = api::kVersion;
    builder.describe_access();
    fill_schemas(components);
    fill_headers(settings, components["headers"]);
    builder.complete_headers();

    if (!settings.usage_path.empty()) {
        add_usage(settings.usage_path, document);
    }
    builder.complete_operations();
    if (settings.sunset) {
        announce_end(settings, document["paths"]["/pets/{petId}"]["get"]);
    }
    return document.dump();
}

}  // namespace petstore::openapi
