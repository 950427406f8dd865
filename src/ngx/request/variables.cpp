// The $petstore_… variables.
#include "../../ngx_base/str.h"
#include "../config/config.h"
#include "../hooks.h"
#include "identity.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

// What the variables of a request are read from.
struct VariableSource {
    ngx_http_request_t* request;
    const RequestInfo& info;
    const service::RequestState& state;
    const store::CachedKey* key;  // nullptr without a valid one
};

// A variable without text is not found.
struct Variable {
    ngx_str_t name;
    std::string_view (*get)(const VariableSource& from);
};

// Empty if out of memory.
template <typename... Args>
std::string_view formatted(ngx_pool_t* pool, const char* format,
                           Args... args) noexcept
{
    u_char text[64];
    u_char* end = ngx_snprintf(text, sizeof(text), format, args...);
    return ngx_base::view(
        ngx_base::copy(pool, {reinterpret_cast<char*>(text),
                              static_cast<std::size_t>(end - text)}));
}

const Variable own_variables[] = {
    {ngx_string("petstore_operation"),
     [](const VariableSource& from) {
         return from.state.operation == api::Operation::none
                    ? std::string_view()
                    : api::to_string(from.state.operation);
     }},
    {ngx_string("petstore_key_id"),
     [](const VariableSource& from) {
         const auto& refused = from.state.key.refused.id;
         return from.key != nullptr  ? from.key->record.id()
                : refused != nullptr ? std::string_view(*refused)
                                     : std::string_view();
     }},
    {ngx_string("petstore_key_refusal"),
     [](const VariableSource& from) {
         return api::refusal_name(from.state.key.refused.refusal);
     }},
    {ngx_string("petstore_account"),
     [](const VariableSource& from) {
         return from.key != nullptr ? from.key->account->id()
                                    : std::string_view();
     }},
    {ngx_string("petstore_external_id"),
     [](const VariableSource& from) {
         return from.key != nullptr ? from.key->record.external_id()
                                    : std::string_view();
     }},
    {ngx_string("petstore_plan"),
     [](const VariableSource& from) {
         return from.key != nullptr ? from.key->record.plan()
                                    : std::string_view();
     }},
    {ngx_string("petstore_limit_status"),
     [](const VariableSource& from) {
         return api::to_string(from.state.limit_status);
     }},
    {ngx_string("petstore_limit_remaining"),
     [](const VariableSource& from) {
         return from.state.rate ? formatted(from.request->pool, "%L",
                                            from.state.rate->remaining)
                                : std::string_view();
     }},
    {ngx_string("petstore_cost"),
     [](const VariableSource& from) {
         return from.state.cost != 0
                    ? formatted(from.request->pool, "%L", from.state.cost)
                    : std::string_view();
     }},
    {ngx_string("petstore_error_code"),
     [](const VariableSource& from) { return from.state.error_code; }},
    // Seconds with millisecond resolution, like $upstream_response_time.
    {ngx_string("petstore_redis_time"),
     [](const VariableSource& from) {
         const auto& time = from.state.redis_time;
         return time.started
                    ? formatted(from.request->pool, "%L.%03M",
                                static_cast<std::int64_t>(time.passed / 1000),
                                static_cast<ngx_msec_t>(time.passed % 1000))
                    : std::string_view();
     }},
    {ngx_string("petstore_route"),
     [](const VariableSource& from) {
         ngx_http_request_t* const main = from.request->main;
         // Empty before the guard, as the others are, unless nginx has refused
         // the request there.
         const bool early = from.info.guard.first == nullptr
                            && main->err_status < NGX_HTTP_BAD_REQUEST
                            && main->headers_out.status == 0;
         const LocConf* conf = early ? nullptr : guarded_conf(main, from.info);
         return conf != nullptr ? ngx_base::view(conf->route)
                                : std::string_view();
     }},
};

// `data` points to the Variable.
ngx_int_t get_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                       uintptr_t data) noexcept
{
    std::string_view text;
    if (const RequestInfo* info = find_request_info(r)) {
        const service::RequestState& state = info->service;
        text = reinterpret_cast<const Variable*>(data)->get(
            {r, *info, state, state.key.valid.get()});
    }
    value->valid = text.empty() ? 0 : 1;
    value->not_found = text.empty() ? 1 : 0;
    value->no_cacheable = 1;
    value->escape = 0;
    value->len = static_cast<unsigned>(text.size());
    value->data = ngx_base::borrow(text).data;
    return NGX_OK;
}

}  // namespace

ngx_int_t add_variables(ngx_conf_t* cf) noexcept
{
    for (const Variable& own : own_variables) {
        ngx_str_t name = own.name;
        auto* variable =
            ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
        if (variable == nullptr) {
            return NGX_ERROR;
        }
        variable->get_handler = get_variable;
        variable->data = reinterpret_cast<uintptr_t>(&own);
    }
    return add_identity_variables(cf);
}

}  // namespace petstore::ngx
