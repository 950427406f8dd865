// Warns about settings that are valid but probably unintended.
#include <algorithm>

#include "../ngx_base/str.h"
#include "config.h"
#include "module.h"
#include "other_modules.h"

namespace petstore::ngx {

namespace {

// Whether the path of a request that starts with `prefix` can be an API path at
// `base`.
bool can_match(std::string_view prefix, std::string_view base) noexcept
{
    const auto in_base = std::min(prefix.size(), base.size());
    const auto rest = prefix.substr(in_base);
    const auto starts = [&](std::string_view path) {
        const auto size = std::min(rest.size(), path.size());
        return rest.substr(0, size) == path.substr(0, size);
    };
    return prefix.substr(0, in_base) == base.substr(0, in_base)
           && (starts("/pets/") || starts("/openapi.json"));
}

bool is_plain_prefix(const ngx_http_core_loc_conf_t* core) noexcept
{
#if (NGX_PCRE)
    if (core->regex != nullptr) {
        return false;
    }
#endif
    return !core->exact_match && !core->named;
}

}  // namespace

void check_locations(ngx_conf_t* cf, const MainConf& main) noexcept
{
    for (const auto& [place, core, conf, server] : main.served) {
        const ReportAt at(cf, place);
        if (core->handler != content_handler) {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "\"petstore\" is overridden by a later "
                               "directive, such as \"proxy_pass\"");
            continue;
        }
        if (is_plain_prefix(core)
            && !can_match(view(core->name), view(conf->base_path))
            && !may_rewrite(cf, *core)) {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "no request for \"%V/pets\" reaches location "
                               "\"%V\"; the argument of \"petstore\" sets "
                               "another base path",
                               &conf->base_path, &core->name);
        }
    }
    for (const auto& cors : main.cors) {
        if (!cors.in_effect) {
            const ReportAt at(cf, cors.place);
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "\"petstore_cors\" has no effect: no location "
                               "with \"petstore\" or \"petstore_guard\" uses "
                               "it");
        }
    }
}

}  // namespace petstore::ngx
