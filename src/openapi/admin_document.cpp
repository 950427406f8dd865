// The document of the admin API. What it shares with that of the pets comes
// from template.json.
#include <utility>

#include "../api/admin_query.h"
#include "../api/query.h"
#include "../api/version.h"
#include "builder.h"
#include "document.h"
#include "openapi_files.h"  // template.json, usage.json, admin….json

namespace petstore::openapi {

namespace {

void take_info(Json& document, Json&& info)
{
    for (const char* name : {"title", "summary", "description"}) {
        document["info"][name] = std::move(info[name]);
    }
    document["info"]["version"] = api::kVersion;
}

// Replaces names by the objects that several operations have.
void fill_objects(Json& paths, const Json& objects)
{
    for (Json& part : paths) {
        if (part.is_structured()) {
            fill_objects(part, objects);
        } else if (part.is_string()) {
            const auto found = objects.find(part.get_ref<const std::string&>());
            if (found != objects.end()) {
                part = *found;
            }
        }
    }
}

// Properties that are the same in several schemas.
void add_settable(Json& schemas)
{
    const Json& of_key = schemas["KeyChange"]["properties"];
    schemas["KeyCreation"]["properties"].update(of_key);
    Json& of_account = schemas["AccountChange"]["properties"];
    for (const char* name :
         {"label", "plan", "per_minute", "per_day", "per_month"}) {
        of_account[name] = of_key[name];
    }
}

// Keeps the error, and the window that usage.json describes.
void take_components(Json& components, Json& admin)
{
    Json usage = Json::parse(std::string_view(k_usage_json));
    Json schemas = Json::parse(std::string_view(k_admin_schemas_json));
    schemas.update(Json::parse(std::string_view(k_admin_key_schemas_json)));
    schemas["Window"] = std::move(usage["schemas"]["Window"]);
    schemas["Error"] = std::move(components["schemas"]["Error"]);
    add_settable(schemas);
    components["schemas"] = std::move(schemas);

    Json parameters = std::move(admin["parameters"]);
    Json& limit = parameters["pageLimit"]["schema"];
    limit["maximum"] = api::kMaxPageLimit;
    limit["default"] = api::AdminQuery{}.limit;
    Json& key = components["parameters"]["idempotencyKey"];
    key["description"] =
        "Makes it safe to repeat the request. For 24 hours, a request of the same account with this key, path and body returns the first answer, without the secret and with `Idempotent-Replayed: true`. Use a new random value, such as a UUID, for each change.";
    parameters["idempotencyKey"] = std::move(key);
    components["parameters"] = std::move(parameters);
}

void take_headers(const Settings& settings, Json& headers)
{
    for (const char* name : {"Deprecation", "Sunset", "Successor"}) {
        headers.erase(name);
    }
    const std::string list = settings.base + "/accounts";
    const api::ScanPlace place{0, 0, "bA6Zs4mHlPqA7t2K"};
    headers["Link"]["example"] =
        api::admin_links(list, api::Operation::list_accounts, {}, place);
    headers["Location"]["description"] = "The URL of the new account or key.";
    headers["Location"]["example"] = list + "/bA6Zs4mHlPqA7t2K";
    headers["Idempotent-Replayed"]["description"] =
        "Present if the answer is that of an earlier request with the same Idempotency-Key.";
}

}  // namespace

std::string admin_document(const Settings& settings)
{
    Json document = Json::parse(std::string_view(k_template_json));
    Json admin = Json::parse(std::string_view(k_admin_json));
    take_info(document, std::move(admin["info"]));
    document["tags"] = std::move(admin["tags"]);
    document["paths"] = Json::object();
    for (const std::string_view paths :
         {k_admin_account_paths_json, k_admin_key_paths_json,
          k_admin_other_paths_json}) {
        document["paths"].update(Json::parse(paths));
    }
    Json& objects = admin["objects"];
    Json new_key = objects["{Key}"];
    new_key.update(objects["{NewKey}"]);
    objects["{NewKey}"] = std::move(new_key);
    fill_objects(document["paths"], objects);
    take_components(document["components"], admin);
    take_headers(settings, document["components"]["headers"]);

    Builder builder(settings, document);
    builder.describe_access();
    builder.complete_headers();
    builder.complete_operations();
    return document.dump();
}

}  // namespace petstore::openapi
