#pragma once

#include "../ngx_base/ngx.h"

// Steps of the configuration that ngx_http_petstore_module.cpp calls.
namespace petstore::ngx {

struct MainConf;

// Adds the $petstore_… variables. Call before the configuration is parsed.
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

// The rest is called after everything is parsed and merged.

// False, which is logged, if a TLS directive applies to no rediss:// URL.
bool check_tls_levels(ngx_conf_t* cf, MainConf& main) noexcept;

// Warns about settings that are valid but probably unintended.
void check_locations(ngx_conf_t* cf, const MainConf& main) noexcept;
void check_open_locations(ngx_conf_t* cf, const MainConf& main) noexcept;

// Builds the OpenAPI documents of the locations that serve an API: a document
// also describes another location. False, which is logged, if there is not
// enough memory.
bool choose_documents(ngx_conf_t* cf, MainConf& main) noexcept;

// Installs the filter of petstore_cors. Call before install_error_filter():
// filters run in reverse order, and this one must see which errors were
// replaced.
void install_cors_filter() noexcept;

// Installs a header filter and a body filter. They give nginx's own errors the
// body and headers of the service's errors: in locations of the service, and
// wherever petstore_json_errors is on.
void install_error_filter() noexcept;

// These register phase handlers.
// Maintains RequestInfo::entered.
ngx_int_t track_entered_locations(ngx_conf_t* cf) noexcept;
ngx_int_t answer_preflights(ngx_conf_t* cf) noexcept;  // for petstore_cors
ngx_int_t install_guard(ngx_conf_t* cf) noexcept;      // for petstore_guard
ngx_int_t install_metrics(ngx_conf_t* cf) noexcept;    // counts requests

// Logs the module's version, once per start and reload, if the configuration
// uses the module.
ngx_int_t log_start(ngx_cycle_t* cycle) noexcept;

}  // namespace petstore::ngx
