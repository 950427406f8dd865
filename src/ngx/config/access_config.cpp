// The directives that say which keys a location accepts, and where it finds
// them.
#include <algorithm>
#include <utility>

#include "../../api/bearer.h"
#include "../../api/key.h"
#include "../../api/plan.h"
#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../module.h"
#include "../request/entered_location.h"
#include "../request/identity.h"
#include "arguments.h"
#include "merge.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kMaxName = 64;

// Headers with another meaning, for nginx, for this module or for back ends. A
// key in one of them would be logged, cached or overwritten.
constexpr std::string_view kOtherHeaders =
    " accept accept-charset accept-encoding accept-language "
    "access-control-request-headers access-control-request-method "
    "authorization cache-control connection content-encoding content-length "
    "content-range content-type cookie date depth destination expect "
    "forwarded host idempotency-key if-match if-modified-since "
    "if-none-match if-range if-unmodified-since keep-alive origin overwrite "
    "pragma proxy-authorization range referer te trailer transfer-encoding "
    "upgrade user-agent via x-account x-external-id x-forwarded-for "
    "x-forwarded-host x-forwarded-proto x-key-id x-plan x-real-ip ";

bool is_header_name(std::string_view name) noexcept
{
    return name.size() <= kMaxName && api::is_alphanumeric_or(name, "-");
}

bool has_other_meaning(std::string_view name)
{
    std::string word = " ";
    for (const char c : name) {
        word += api::lower(c);
    }
    return kOtherHeaders.find(word + ' ') != std::string_view::npos;
}

// Text of a quoted-string (RFC 9110, section 5.6.4) that needs no escape.
bool is_realm(std::string_view text) noexcept
{
    return !text.empty() && text.size() <= kMaxName
           && std::all_of(text.begin(), text.end(), [](char c) {
                  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
              });
}

bool is_route_name(std::string_view name) noexcept
{
    return name.size() <= kMaxName && api::is_alphanumeric_or(name, "_-.:/");
}

// Not a name in any case, because petstore_guard takes "OFF" for "off".
bool is_off(std::string_view text) noexcept
{
    return api::equals_ignoring_case(text, "off");
}

bool is_method(std::string_view text) noexcept
{
    return text == "method";
}

}  // namespace

TextRule realm_rule = {
    nullptr, is_realm,
    "1 to 64 printable ASCII characters without quotation marks and backslashes"};
TextRule scope_rule = {
    is_method, api::is_scope,
    "\"method\", or 1 to 64 lower-case letters, digits, \":\", \".\", \"_\" and \"-\""};
TextRule route_rule = {
    is_off, is_route_name,
    "a name of 1 to 64 letters, digits, \"_\", \"-\", \".\", \":\" and \"/\", or \"off\""};

char* set_key_header(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.key_header.data != nullptr) {
        return kDuplicate;
    }
    ngx_str_t name = arguments(cf)[1];
    if (is_off(ngx_base::view(name))) {
        name.len = 0;
    } else if (!is_header_name(ngx_base::view(name))
               || ngx_base::view(name) == "on") {
        return refuse_value(
            cf, name,
            "a name of 1 to 64 letters, digits and \"-\", such as \"X-API-Key\", or \"off\"");
    } else if (has_other_meaning(ngx_base::view(name))) {
        return refuse(
            cf,
            "invalid value \"%V\" in \"petstore_key_header\" directive, this header has another meaning",
            &name);
    }
    if (name.len != 0 && add_key_variable(cf, ngx_base::view(name)) != NGX_OK) {
        return kConfError;
    }
    auto& longest = main_conf(cf).longest_key_header;
    longest = std::max(longest, name.len);
    loc.key_header = name;
    return kConfOk;
}

char* set_allow_plans(ngx_conf_t* cf, LocConf& loc)
{
    if (loc.allow_plans != nullptr) {
        return kDuplicate;
    }
    auto plans = std::make_shared<std::vector<std::string>>();
    const ngx_uint_t count = cf->args->nelts;
    for (ngx_uint_t i = 1; i < count; ++i) {
        const ngx_str_t& name = arguments(cf)[i];
        const std::string_view text = ngx_base::view(name);
        if (text == "all" && count == 2) {
            continue;
        }
        if (!api::may_name_plan(text)) {
            return refuse_value(
                cf, name,
                "\"all\" alone, or names of plans: 1 to 32 lower-case letters, digits, \"-\" or \"_\", and neither \"none\" nor \"unknown\"");
        }
        if (std::find(plans->begin(), plans->end(), text) != plans->end()) {
            return refuse(
                cf,
                "duplicate plan \"%V\" in \"petstore_allow_plans\" directive",
                &name);
        }
        plans->emplace_back(text);
    }
    loc.allow_plans = std::move(plans);
    return kConfOk;
}

const char* directive_of_admission(const LocConf& conf) noexcept
{
    return conf.allow_plans != nullptr   ? "petstore_allow_plans"
           : conf.scope.data != nullptr  ? "petstore_scope"
           : conf.cost != NGX_CONF_UNSET ? "petstore_cost"
           : conf.route.data != nullptr  ? "petstore_route"
                                         : nullptr;
}

bool contains_admission(const ngx_http_core_loc_conf_t& core) noexcept
{
    return any_location(core, [](const ngx_http_location_queue_t& location) {
        const auto& inner =
            *(location.exact != nullptr ? location.exact : location.inclusive);
        const auto& conf = *static_cast<const LocConf*>(
            inner.loc_conf[ngx_http_petstore_module.ctx_index]);
        return conf.serves == 1 || conf.guard == 1
               || admits_itself(conf.own_handler) || contains_admission(inner);
    });
}

void merge_access(const LocConf& prev, LocConf& conf, MainConf& main)
{
    ngx_conf_merge_str_value(conf.route, prev.route, "");
    if (conf.route.len != 0) {
        conf.route_index = find_or_add(main.routes, ngx_base::view(conf.route));
    }
    ngx_conf_merge_str_value(conf.realm, prev.realm, "petstore");
    ngx_conf_merge_str_value(conf.key_header, prev.key_header, "");
    ngx_conf_merge_value(conf.identity_headers, prev.identity_headers, 1);
    ngx_conf_merge_str_value(conf.scope, prev.scope, "");
    if (conf.allow_plans == nullptr) {
        conf.allow_plans = prev.allow_plans;
    }
    service::Settings& service = conf.service;
    const std::string_view realm = ngx_base::view(conf.realm);
    service.challenge = api::challenge(realm);
    service.challenge_to_key = api::challenge_to_key(realm);
    service.key_header = ngx_base::view(conf.key_header);
    service.missing_key = api::missing_key_message(service.key_header);
    service.scope = ngx_base::view(conf.scope);
    if (conf.allow_plans != nullptr) {
        service.plans = *conf.allow_plans;
    }
    conf.cors_request_headers = "Authorization, Content-Type, Idempotency-Key";
    if (!service.key_header.empty()) {
        conf.cors_request_headers += ", " + service.key_header;
    }
}

}  // namespace petstore::ngx
