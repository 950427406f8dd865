#include "variables.h"

#include "../../ngx_base/str.h"
#include "../config/config.h"
#include "identity.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

ngx_int_t found(ngx_http_variable_value_t* value,
                std::string_view text) noexcept
{
    value->valid = text.empty() ? 0 : 1;
    value->not_found = text.empty() ? 1 : 0;
    value->no_cacheable = 1;
    value->escape = 0;
    value->len = static_cast<unsigned>(text.size());
    value->data = ngx_base::borrow(text).data;
    return NGX_OK;
}

ngx_int_t formatted(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                    const char* format, std::int64_t a, ngx_msec_t b) noexcept
{
    u_char text[64];
    u_char* end = ngx_snprintf(text, sizeof(text), format, a, b);
    const ngx_str_t copied =
        ngx_base::copy(r->pool, {reinterpret_cast<char*>(text),
                                 static_cast<std::size_t>(end - text)});
    return copied.data == nullptr ? NGX_ERROR
                                  : found(value, ngx_base::view(copied));
}

using Getter = ngx_int_t (*)(ngx_http_request_t*, const service::RequestState&,
                             ngx_http_variable_value_t*);

template <Getter Get>
ngx_int_t handler(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                  uintptr_t) noexcept
{
    const RequestInfo* info = request_info(r, false);
    return info == nullptr ? found(value, {}) : Get(r, info->service, value);
}

ngx_int_t operation(ngx_http_request_t*, const service::RequestState& state,
                    ngx_http_variable_value_t* value)
{
    return found(value, state.operation == api::Operation::none
                            ? std::string_view()
                            : api::to_string(state.operation));
}

ngx_int_t key_id(ngx_http_request_t*, const service::RequestState& state,
                 ngx_http_variable_value_t* value)
{
    if (state.key.valid) {
        return found(value, state.key.valid->record.id());
    }
    const auto& refused = state.key.refused.id;
    return found(value, refused ? *refused : std::string_view());
}

ngx_int_t key_refusal(ngx_http_request_t*, const service::RequestState& state,
                      ngx_http_variable_value_t* value)
{
    return found(value, api::refusal_name(state.key.refused.refusal));
}

ngx_int_t account(ngx_http_request_t*, const service::RequestState& state,
                  ngx_http_variable_value_t* value)
{
    return found(value, state.key.valid ? state.key.valid->account->id()
                                        : std::string_view());
}

ngx_int_t plan(ngx_http_request_t*, const service::RequestState& state,
               ngx_http_variable_value_t* value)
{
    return found(value, state.key.valid ? state.key.valid->record.plan()
                                        : std::string_view());
}

ngx_int_t external_id(ngx_http_request_t*, const service::RequestState& state,
                      ngx_http_variable_value_t* value)
{
    return found(value, state.key.valid ? state.key.valid->record.external_id()
                                        : std::string_view());
}

ngx_int_t limit_status(ngx_http_request_t*, const service::RequestState& state,
                       ngx_http_variable_value_t* value)
{
    return found(value, api::to_string(state.limit_status));
}

ngx_int_t limit_remaining(ngx_http_request_t* r,
                          const service::RequestState& state,
                          ngx_http_variable_value_t* value)
{
    if (!state.rate) {
        return found(value, {});
    }
    return formatted(r, value, "%L", state.rate->remaining, 0);
}

ngx_int_t cost(ngx_http_request_t* r, const service::RequestState& state,
               ngx_http_variable_value_t* value)
{
    return state.cost == 0 ? found(value, {})
                           : formatted(r, value, "%L", state.cost, 0);
}

ngx_int_t error_code(ngx_http_request_t*, const service::RequestState& state,
                     ngx_http_variable_value_t* value)
{
    return found(value, state.error_code);
}

// Seconds with millisecond resolution, like $upstream_response_time.
ngx_int_t redis_time(ngx_http_request_t* r, const service::RequestState& state,
                     ngx_http_variable_value_t* value)
{
    if (!state.redis_time.started) {
        return found(value, {});
    }
    return formatted(r, value, "%L.%03M",
                     static_cast<std::int64_t>(state.redis_time.passed / 1000),
                     state.redis_time.passed % 1000);
}

// That of the first guarded location.
ngx_int_t route(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                uintptr_t) noexcept
{
    const RequestInfo* info = request_info(r, false);
    const LocConf* conf = info == nullptr ? nullptr : info->guard.first;
    return found(value, conf == nullptr ? std::string_view()
                                        : ngx_base::view(conf->route));
}

}  // namespace

ngx_int_t add_variables(ngx_conf_t* cf) noexcept
{
    static const struct {
        ngx_str_t name;
        ngx_http_get_variable_pt get;
    } variables[] = {
        {ngx_string("petstore_operation"), handler<operation>},
        {ngx_string("petstore_key_id"), handler<key_id>},
        {ngx_string("petstore_key_refusal"), handler<key_refusal>},
        {ngx_string("petstore_account"), handler<account>},
        {ngx_string("petstore_external_id"), handler<external_id>},
        {ngx_string("petstore_plan"), handler<plan>},
        {ngx_string("petstore_limit_status"), handler<limit_status>},
        {ngx_string("petstore_limit_remaining"), handler<limit_remaining>},
        {ngx_string("petstore_cost"), handler<cost>},
        {ngx_string("petstore_error_code"), handler<error_code>},
        {ngx_string("petstore_redis_time"), handler<redis_time>},
        {ngx_string("petstore_route"), route},
    };
    for (const auto& [name, get] : variables) {
        ngx_str_t copied = name;
        auto* variable =
            ngx_http_add_variable(cf, &copied, NGX_HTTP_VAR_NOCACHEABLE);
        if (variable == nullptr) {
            return NGX_ERROR;
        }
        variable->get_handler = get;
    }
    return add_identity_variables(cf);
}

}  // namespace petstore::ngx
