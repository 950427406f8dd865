#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

struct LocConf;
struct RequestInfo;

// The latest location with `petstore`, petstore_usage, petstore_admin or a
// guard that the main request was in. nginx may refuse the request there before
// the module sees it, and send an error page from another location: the page
// follows the settings of this one.
struct EnteredLocation {
    // nullptr if there was none, a `rewrite` has left it, or nginx refused the
    // length of the body, which it checks before all phases.
    const LocConf* conf = nullptr;
    // The first such location that the request was in, error pages aside;
    // nullptr if there was none.
    const LocConf* first = nullptr;
    // The first one that neither `return` nor `rewrite` has made the request
    // leave, error pages aside: that answers preflights. nullptr if there was
    // none.
    const LocConf* reached = nullptr;
    ngx_uint_t uri_changes = 0;  // r->uri_changes on entry
    bool redirected = false;     // by nginx from `conf`, to an error page
    bool served = false;         // by a content handler of the module
    // The latest `conf` where the API, the guard or CORS has handled the
    // request; nullptr if there was none.
    const LocConf* handled_in = nullptr;
};

// The content handler of the request, or of its location: nginx refuses a
// direct request to an `internal` location before it sets the handler.
ngx_http_handler_pt handler_of(ngx_http_request_t* r) noexcept;

// Whether the handler admits requests to itself: that of petstore_usage and
// that of petstore_admin.
bool admits_itself(ngx_http_handler_pt handler) noexcept;

// Whether the request is in a location with `petstore`, petstore_usage,
// petstore_admin or a guard.
bool is_in_service(ngx_http_request_t* r) noexcept;

// Whether the response is one of the service: the main request is in such a
// location, or was redirected from one to an error page.
bool belongs_to_service(ngx_http_request_t* r) noexcept;

// The settings for the response: those of the current location if it is in the
// service, else those of the entered location whose error page this is, else
// those of the current location again.
const LocConf& governing_conf(ngx_http_request_t* r) noexcept;

// The guarded location that the client's request was to; nullptr if there is
// none. nginx may have refused it there before the guard saw it, as limit_req
// does.
const LocConf* guarded_conf(ngx_http_request_t* r,
                            const RequestInfo& info) noexcept;

// Applies the client_max_body_size that the API has lifted in the request's
// location, that of `conf`. If Content-Length exceeds it, logs that, discards
// the body and returns true: the caller must answer with a 413. Later calls
// return false, for the page of that 413. Call where another handler may read
// the body.
bool refuse_too_large_body(ngx_http_request_t* r, RequestInfo& info,
                           const LocConf& conf) noexcept;

}  // namespace petstore::ngx
