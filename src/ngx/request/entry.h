#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

struct LocConf;

// Whether the request is in a location with petstore or a guard.
bool is_in_service(ngx_http_request_t* r) noexcept;

// Whether a main request is in such a location, or was in one that nginx has
// redirected it from: its response is then an error page of that location.
bool is_of_service(ngx_http_request_t* r) noexcept;

// Makes requests remember the location of the service that they enter: see
// RequestInfo::entered.
ngx_int_t install_entry(ngx_conf_t* cf) noexcept;

// The location whose settings the response follows: that which sends it if it
// is one of the service, else the latest one that the request has entered,
// whose error page this is. If there is none, the one that sends it.
const LocConf& governing_conf(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
