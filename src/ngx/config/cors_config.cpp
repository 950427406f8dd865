// The directive petstore_cors.
#include <algorithm>

#include "../../api/origin.h"
#include "../../redis/endpoint.h"
#include "../module.h"
#include "arguments.h"
#include "config.h"

namespace petstore::ngx {

namespace {

// Refuses an origin that can never match, so that `nginx -t` reports the
// mistake instead of browsers.
bool add_origin(ngx_conf_t* cf, CorsPolicy& policy, const ngx_str_t& argument)
{
    const auto text = ngx_base::view(argument);
    if (const char* problem = api::origin_problem(text)) {
        const auto quoted = text.find('@') == std::string_view::npos
                                ? std::string(text)
                                : redis::redact_url(text);
        refuse(cf, "invalid origin \"%s\" in \"petstore_cors\" directive: %s",
               quoted.c_str(), problem);
        return false;
    }
    if (std::find(policy.origins.begin(), policy.origins.end(), text)
        != policy.origins.end()) {
        refuse(cf, "duplicate origin \"%V\" in \"petstore_cors\" directive",
               &argument);
        return false;
    }
    policy.origins.emplace_back(text);
    return true;
}

}  // namespace

char* set_cors(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.cors != NGX_CONF_UNSET_PTR) {
        return kDuplicate;
    }
    CorsPolicy policy;
    policy.position = current_position(cf);
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        const auto text = ngx_base::view(arguments(cf)[i]);
        if (text != "*" && text != "off") {
            if (!add_origin(cf, policy, arguments(cf)[i])) {
                return kConfError;
            }
        } else if (cf->args->nelts > 2) {
            return refuse(
                cf,
                "\"%V\" in \"petstore_cors\" directive cannot be combined with anything else",
                &arguments(cf)[i]);
        } else if (text == "off") {
            loc.cors = nullptr;
            return kConfOk;
        } else {
            policy.any = true;
        }
    }
    loc.cors = &main_conf(cf).cors.emplace_back(std::move(policy));
    return kConfOk;
}

}  // namespace petstore::ngx
