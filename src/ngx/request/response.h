#pragma once

#include <string_view>

#include "../../ngx_base/ngx.h"
#include "../../service/request_state.h"
#include "../../service/responder.h"
#include "../config/config.h"
#include "../filters/headers.h"

namespace petstore::ngx {

class BodyReader;
class GuardedRequest;

// What the module keeps about a client's request until it is logged. Lives in
// the pool of the main request; request_info() finds it across internal
// redirects.
struct RequestInfo : service::RequestState {
    // A handler of the service has run for the main request.
    bool in_service = false;
    bool generated_by_module = false;  // this module wrote the response
    bool header_held = false;          // until the body shows whose page it is
    bool replaced = false;  // nginx's error page was replaced by ours
    ngx_str_t error_json = ngx_null_string;
    BodyReader* body_reader = nullptr;  // the latest; valid while it reads

    // The latest location with petstore or a guard that the main request was
    // in; use governing_conf(). nullptr if there was none, if a rewrite has
    // left it, or if nginx refused the body's length, which it checks before
    // all phases.
    const LocConf* entered = nullptr;
    ngx_uint_t entered_at = 0;  // r->uri_changes then
    bool redirected = false;    // from there, by nginx: to an error page
    std::string_view preflight_methods;  // set if this answers a preflight

    GuardedRequest* guarded = nullptr;  // passes through a guard: a list
    bool has_guard = false;             // the main request met a guard
    bool refused = false;               // and was refused by it
    int locations_after_refusal = 0;    // that it has entered, but at most 2
    int refusal_status = 0;
    ngx_str_t refusal = ngx_null_string;  // the body of the refusal
};

// nullptr if there is none, or with `create` if out of memory.
RequestInfo* request_info(ngx_http_request_t* r, bool create) noexcept;

// Adds the headers common to all responses of the service: rate headers,
// Cache-Control unless another module has set it, and deprecation headers.
// Without a valid key, the rate headers describe the window of the client's
// address. All of these functions return false if out of memory.
bool add_common_headers(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated) noexcept;

void remove_rate_headers(ngx_http_request_t* r) noexcept;

// Replaces the rate headers of a guarded handler with ours.
bool set_rate_headers(ngx_http_request_t* r, RequestInfo& info) noexcept;

// Adds the headers specific to this response.
bool add_response_headers(ngx_http_request_t* r,
                          const service::Response& response) noexcept;

// Sends a whole response; nothing may be sent after it. Returns the value to
// finalize the request with.
ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated,
                        const service::Response& response) noexcept;

// Closes the connection after a final response if the client waits for "100
// Continue", because it may never send the body.
void close_after_expect(ngx_http_request_t* r) noexcept;

// Discards an unread body, which would otherwise be parsed as the next request
// on the connection.
void discard_body(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
