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
    const ngx_uint_t count = cf->args->nelts;
    const auto only =
        count == 2 ? ngx_base::view(arguments(cf)[1]) : std::string_view();
    CorsPolicy policy;
    policy.position = current_position(cf);
    policy.any = only == "*";
    const bool lists_origins = only != "*" && only != "off";
    for (ngx_uint_t i = 1; i < count && lists_origins; ++i) {
        const ngx_str_t& argument = arguments(cf)[i];
        const auto text = ngx_base::view(argument);
        if (text == "*" || text == "off") {
            return refuse(
                cf,
                "\"%V\" in \"petstore_cors\" directive cannot be combined with anything else",
                &argument);
        }
        if (!add_origin(cf, policy, argument)) {
            return kConfError;
        }
    }
    loc.cors = &main_conf(cf).cors.emplace_back(std::move(policy));
    return kConfOk;
}

}  // namespace petstore::ngx
