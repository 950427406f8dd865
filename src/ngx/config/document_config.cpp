// The OpenAPI documents of locations.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "../../api/digest.h"
#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../../openapi/document.h"
#include "../hooks.h"
#include "../module.h"

namespace petstore::ngx {

namespace {

openapi::Settings document_settings(const LocConf& conf)
{
    openapi::Settings settings;
    settings.base = conf.service.link_base;
    settings.deprecation = service::kDeprecatedSince;
    if (conf.get_sunset != service::Settings::kNeverGone) {
        settings.sunset = conf.get_sunset;
    }
    settings.successor = conf.deprecated_link;
    settings.window_headers = conf.limit_headers == kHeadersWindows;
    settings.ietf_headers = conf.limit_headers == kHeadersIetf;
    settings.key_header = conf.service.key_header;
    settings.some_plans = !conf.service.plans.empty();
    if (conf.cors != nullptr && !conf.cors->is_off()) {
        settings.cors_origin =
            conf.cors->any ? "*" : conf.cors->origins.front();
    }
    return settings;
}

// Whether what the document says of the API is true of the other location.
bool describes(const openapi::Settings& api, const LocConf& other)
{
    const auto shared = [](const openapi::Settings& s) {
        return std::tie(s.window_headers, s.ietf_headers, s.cors_origin,
                        s.key_header);
    };
    const openapi::Settings settings = document_settings(other);
    return shared(api) == shared(settings);
}

// The path, relative to the base path, of a petstore_usage that the document
// describes: one below the base path in the same server, for the same clients
// and keys. Empty if there is none.
std::string usage_path(const MainConf& main, const DocumentedLocation& location,
                       const openapi::Settings& settings)
{
    const std::string base = location.conf->service.base_path + '/';
    for (const UsedLocation& usage : main.usages) {
        const std::string_view path = ngx_base::view(usage.core->name);
        if (usage.server == location.server
            && usage.core->handler == usage_handler && is_plain(*usage.core)
            && !usage.core->internal
            && usage.conf->storage == location.conf->storage
            && path.size() > base.size() && api::starts_with(path, base)
            && describes(settings, *usage.conf)) {
            return std::string(path.substr(base.size() - 1));
        }
    }
    return {};
}

void choose_document(MainConf& main, const DocumentedLocation& location)
{
    LocConf& conf = *location.conf;
    const bool is_admin = conf.own_handler == admin_handler;
    auto settings = document_settings(conf);
    if (!is_admin) {
        settings.usage_path = usage_path(main, location, settings);
    }
    auto& documents = main.documents;
    auto found = std::find_if(documents.begin(), documents.end(),
                              [&](const Document& document) {
                                  return document.is_admin == is_admin
                                         && document.settings == settings;
                              });
    if (found == documents.end()) {
        Document made{is_admin, {}, nullptr, {}};
        auto response = std::make_shared<store::CachedResponse>();
        response->body = is_admin ? openapi::admin_document(settings)
                                  : openapi::document(settings);
        const auto digest = api::sha256(response->body);
        made.settings = std::move(settings);
        made.response = std::move(response);
        made.etag = '"' + api::base64url_encode(api::bytes_of(digest)) + '"';
        found = documents.insert(documents.end(), std::move(made));
    }
    conf.service.document = found->response;
    conf.service.document_etag = found->etag;
}

}  // namespace

bool choose_documents(ngx_conf_t* cf, MainConf& main) noexcept
{
    return ngx_base::guarded(cf->log, false, [&] {
        for (const DocumentedLocation& location : main.documented) {
            choose_document(main, location);
        }
        return true;
    });
}

}  // namespace petstore::ngx
