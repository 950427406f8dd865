#pragma once

#include "../../ngx_base/ngx.h"

// What the configuration says to other modules. Their structures are private:
// these functions read single members, at the offsets that the modules' own
// tables of directives name. A module that is missing has nothing set.
namespace petstore::ngx {

// Whether requests of this location meet try_files. Valid while the location is
// merged.
bool tries_files(const ngx_conf_t* cf) noexcept;
// Likewise for try_files or mirror, which pass requests on before the content
// handler.
bool passes_on(const ngx_conf_t* cf) noexcept;

// Whether the location may rewrite the URI after nginx has chosen the location.
bool may_rewrite(const ngx_conf_t* cf,
                 const ngx_http_core_loc_conf_t& core) noexcept;

// Whether the location has a `return` outside `if`.
bool returns_always(const ngx_conf_t* cf,
                    const ngx_http_core_loc_conf_t& core) noexcept;

// Whether the first directive of the rewrite module in these settings of a
// server or location is a `return` outside `if`: no request gets past it.
bool returns_first(const ngx_conf_t* cf, void** confs) noexcept;

// Identifies the auth_basic that applies to the location; nullptr if none does.
const void* basic_auth_of(const ngx_conf_t* cf,
                          const ngx_http_core_loc_conf_t& core) noexcept;

// Whether allow, deny or a directive auth_… other than auth_basic applies to
// the location.
bool has_access_rules(const ngx_conf_t* cf,
                      const ngx_http_core_loc_conf_t& core) noexcept;

// Whether ssl_verify_client applies to the server.
bool verifies_clients(const ngx_conf_t* cf,
                      const ngx_http_core_srv_conf_t& server) noexcept;

// Calls `report` for each limit_req_zone and limit_conn_zone whose key uses a
// variable of this module.
using ReportZone = void (*)(ngx_conf_t* cf, const ngx_str_t& zone,
                            const ngx_str_t& key);
void find_zones_by_own_variables(ngx_conf_t* cf, ReportZone report) noexcept;

}  // namespace petstore::ngx
