// The module's entry points: its directives and the hooks that nginx calls.
// src/ngx implements them.
#include <dlfcn.h>

#include "src/ngx/config/config.h"
#include "src/ngx/hooks.h"
#include "src/ngx/module.h"
#include "src/ngx/worker/worker.h"
#include "src/ngx/worker/zone.h"

namespace {

using namespace petstore::ngx;

constexpr ngx_uint_t kLevels =
    NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF;

ngx_conf_enum_t limit_headers[] = {
    {ngx_string("standard"), kHeadersStandard},
    {ngx_string("windows"), kHeadersWindows},
    {ngx_string("ietf"), kHeadersIetf},
    {ngx_null_string, 0},
};

ngx_command_t commands[] = {
    {ngx_string("petstore"),
     NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS | NGX_CONF_TAKE1, setter<set_petstore>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},

    {ngx_string("petstore_usage"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS,
     setter<set_usage>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_admin"),
     NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS | NGX_CONF_TAKE1, setter<set_admin>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_status"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS,
     setter<set_status>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_health"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     setter<set_health>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_guard"), kLevels | NGX_CONF_FLAG, set_guard,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, guard), nullptr},

    {ngx_string("petstore_redis"), kLevels | NGX_CONF_1MORE, setter<set_redis>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_limit_redis"), kLevels | NGX_CONF_1MORE,
     setter<set_limit_redis>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_redis_user"), kLevels | NGX_CONF_TAKE1,
     ngx_conf_set_str_slot, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_user), nullptr},
    {ngx_string("petstore_redis_password_file"), kLevels | NGX_CONF_TAKE1,
     set_positioned_text, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_password_file), nullptr},
    {ngx_string("petstore_admin_redis_user"), kLevels | NGX_CONF_TAKE1,
     ngx_conf_set_str_slot, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, admin_redis_user), nullptr},
    {ngx_string("petstore_admin_redis_password_file"), kLevels | NGX_CONF_TAKE1,
     set_positioned_text, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, admin_redis_password_file), nullptr},
    {ngx_string("petstore_redis_connect_timeout"), kLevels | NGX_CONF_TAKE1,
     set_time, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_connect_timeout), nullptr},
    {ngx_string("petstore_redis_timeout"), kLevels | NGX_CONF_TAKE1, set_time,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, redis_timeout), nullptr},
    {ngx_string("petstore_durability"), kLevels | NGX_CONF_TAKE12,
     setter<set_durability>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_redis_ssl_verify"), kLevels | NGX_CONF_FLAG,
     set_tls_flag, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_ssl_verify), nullptr},
    {ngx_string("petstore_redis_ssl_trusted_certificate"),
     kLevels | NGX_CONF_TAKE1, set_tls_text, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_ssl_trusted_certificate), nullptr},
    {ngx_string("petstore_redis_ssl_name"), kLevels | NGX_CONF_TAKE1,
     set_tls_text, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_ssl_name), nullptr},
    {ngx_string("petstore_redis_ssl_certificate"), kLevels | NGX_CONF_TAKE1,
     set_tls_text, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_ssl_certificate), nullptr},
    {ngx_string("petstore_redis_ssl_certificate_key"), kLevels | NGX_CONF_TAKE1,
     set_tls_text, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, redis_ssl_certificate_key), nullptr},
    {ngx_string("petstore_prefix"), kLevels | NGX_CONF_TAKE1, set_text,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, prefix), &prefix_rule},

    {ngx_string("petstore_base_url"), kLevels | NGX_CONF_TAKE1,
     setter<set_base_url>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_max_body_size"), kLevels | NGX_CONF_TAKE1, set_size,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, max_body_size),
     &body_sizes},
    {ngx_string("petstore_get_sunset"), kLevels | NGX_CONF_TAKE1,
     setter<set_get_sunset>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_json_errors"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, json_errors), nullptr},

    {ngx_string("petstore_realm"), kLevels | NGX_CONF_TAKE1, set_text,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, realm), &realm_rule},
    {ngx_string("petstore_key_header"), kLevels | NGX_CONF_TAKE1,
     setter<set_key_header>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_identity_headers"), kLevels | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, identity_headers), nullptr},
    {ngx_string("petstore_scope"), kLevels | NGX_CONF_TAKE1, set_text,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, scope), &scope_rule},
    {ngx_string("petstore_allow_plans"), kLevels | NGX_CONF_1MORE,
     setter<set_allow_plans>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_route"), kLevels | NGX_CONF_TAKE1, set_text,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, route), &route_rule},
    {ngx_string("petstore_cors"), kLevels | NGX_CONF_1MORE, setter<set_cors>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},

    {ngx_string("petstore_plan"),
     NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE3 | NGX_CONF_TAKE4,
     setter<set_plan, MainConf>, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_cost"), kLevels | NGX_CONF_TAKE1, setter<set_cost>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_ban"), kLevels | NGX_CONF_1MORE, setter<set_ban>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_anonymous_limit"), kLevels | NGX_CONF_TAKE12,
     setter<set_anonymous_limit>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("petstore_limit_headers"), kLevels | NGX_CONF_TAKE1, set_choice,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConfBase, limit_headers),
     limit_headers},
    {ngx_string("petstore_limit_dry_run"), kLevels | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocConfBase, limit_dry_run), nullptr},
    {ngx_string("petstore_zone"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_size,
     NGX_HTTP_MAIN_CONF_OFFSET, offsetof(MainConfBase, zone_size), &zone_sizes},
    {ngx_string("petstore_worker_memory"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1,
     set_size, NGX_HTTP_MAIN_CONF_OFFSET, offsetof(MainConfBase, worker_memory),
     &worker_memory_sizes},

    ngx_null_command,
};

int configurations = 0;  // of this process that have the module

void leave_configuration(void*) noexcept
{
    if (--configurations == 0) {
        ngx_http_petstore_module.index = NGX_MODULE_UNSET_INDEX;
        ngx_http_petstore_module.ctx_index = NGX_MODULE_UNSET_INDEX;
    }
}

// A module that nginx loads again keeps its indexes if nginx did not unload it
// in between. This one stays (see stay_loaded()), and another module may have
// got them meanwhile.
ngx_int_t return_indexes(ngx_cycle_t* cycle) noexcept
{
    auto* cleanup = ngx_pool_cleanup_add(cycle->pool, 0);
    if (cleanup == nullptr) {
        return NGX_ERROR;
    }
    cleanup->handler = leave_configuration;
    ++configurations;
    return NGX_OK;
}

ngx_int_t preconfiguration(ngx_conf_t* cf) noexcept
{
    main_conf(cf).filters_before = FilterChains::current();
    return return_indexes(cf->cycle) == NGX_OK ? add_variables(cf) : NGX_ERROR;
}

ngx_int_t check_and_install(ngx_conf_t* cf, MainConf& conf) noexcept
{
    if (!check_tls_levels(cf, conf)) {
        return NGX_ERROR;
    }
    check_open_locations(cf, conf);
    check_locations(cf, conf);
    if (!conf.has_effect()) {
        return NGX_OK;
    }
    if (!choose_documents(cf, conf)) {
        return NGX_ERROR;
    }
    conf.zone = Zone::add(cf, conf.zone_size);
    if (conf.zone == nullptr || install_metrics(cf) != NGX_OK
        || (conf.has_cors && answer_preflights(cf) != NGX_OK)
        || (conf.in_use && track_entered_locations(cf) != NGX_OK)) {
        return NGX_ERROR;
    }
    return conf.has_guard ? install_guard(cf) : NGX_OK;
}

// nginx unloads a module that a refused configuration was the first to load,
// but leaves its filters in the chains that new workers run. A library that did
// not come so far can be unloaded, and then replaced by another file. One that
// is part of nginx's executable is not found, and stays anyway.
void stay_loaded() noexcept
{
    Dl_info library;
    if (dladdr(&ngx_http_petstore_module, &library) != 0) {
        dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

// Installs the filters even if this configuration does not use them: if it is
// refused later, new workers of the old one run with these chains (see
// FilterChains). If it is refused here, the modules after this one have not
// added theirs.
ngx_int_t postconfiguration(ngx_conf_t* cf) noexcept
{
    MainConf& conf = main_conf(cf);
    stay_loaded();
    install_cors_filter();
    install_error_filter();
    const ngx_int_t result = check_and_install(cf, conf);
    if (result != NGX_OK) {
        conf.filters_before.restore();
    }
    return result;
}

// For an accepted configuration, before nginx frees the former one.
ngx_int_t start_configuration(ngx_cycle_t* cycle) noexcept
{
    // Without an http block there was no preconfiguration().
    if (ngx_get_conf(cycle->conf_ctx, ngx_http_module) == nullptr
        && return_indexes(cycle) != NGX_OK) {
        return NGX_ERROR;
    }
    return log_start(cycle);
}

// nginx calls this in each process whose configuration has the module.
ngx_int_t start_process(ngx_cycle_t* cycle) noexcept
{
    filters_enabled = true;
    return Worker::start(cycle);
}

ngx_http_module_t context = {
    preconfiguration,   // preconfiguration
    postconfiguration,  // postconfiguration
    create_main_conf,   // create main configuration
    init_main_conf,     // init main configuration
    nullptr,            // create server configuration
    nullptr,            // merge server configuration
    create_loc_conf,    // create location configuration
    merge_loc_conf,     // merge location configuration
};

}  // namespace

ngx_module_t ngx_http_petstore_module = {
    NGX_MODULE_V1,
    &context,             // module context
    commands,             // module directives
    NGX_HTTP_MODULE,      // module type
    nullptr,              // init master
    start_configuration,  // init module
    start_process,        // init process
    nullptr,              // init thread
    nullptr,              // exit thread
    Worker::stop,         // exit process
    nullptr,              // exit master
    NGX_MODULE_V1_PADDING,
};
