#pragma once

#include <optional>
#include <string_view>

#include "../ngx_base/ngx.h"
#include "../service/request_state.h"
#include "../service/responder.h"
#include "config.h"
#include "headers.h"

namespace petstore::ngx {

class BodyReader;
class GuardedRequest;

// What the module remembers about a client's request until it is logged. Lives
// in the pool of the main request; request_info() finds it across internal
// redirects.
struct RequestInfo : service::RequestState {
    // The main request was in a location with petstore or a guard.
    bool in_service = false;
    bool generated_by_module = false;  // the response is written by this module
    bool header_held = false;          // until the body shows whose page it is
    bool replaced = false;  // nginx's error page was replaced by ours
    ngx_str_t error_json = ngx_null_string;
    BodyReader* body_reader = nullptr;  // while it waits for the client

    // petstore_cors of the latest location of the service that the request was
    // in. With that directive only; otherwise unset.
    std::optional<const CorsPolicy*> cors;
    std::string_view preflight_methods;  // the response is that to a preflight

    GuardedRequest* guarded = nullptr;  // passes through a guard: a list
    bool has_guard = false;             // the main request met a guard
    bool refused = false;               // … which refused it
    int refusal_status = 0;
    ngx_str_t refusal = ngx_null_string;  // the body for that status
};

// nullptr if there is none, or with `create` if out of memory.
RequestInfo* request_info(ngx_http_request_t* r, bool create) noexcept;

// Adds the headers of all responses of the service: rate headers, Cache-Control
// unless another module has set it, and deprecation headers. Without a valid
// key, the rate headers describe the window of the client's address. False if
// out of memory, as in all of these.
bool add_common_headers(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated) noexcept;

void remove_rate_headers(ngx_http_request_t* r) noexcept;

// Replaces the rate headers that a guarded handler has sent by ours.
bool set_rate_headers(ngx_http_request_t* r, RequestInfo& info) noexcept;

// Adds the headers that this response has beyond those.
bool add_response_headers(ngx_http_request_t* r,
                          const service::Response& response) noexcept;

// Sends a whole response; nothing may be added after it. Returns what the
// request is to be finalized with.
ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated,
                        const service::Response& response) noexcept;

// A client that holds its body back until "100 Continue" may never send it:
// the connection is closed after a final response.
void close_after_expect(ngx_http_request_t* r) noexcept;

// A body that nobody reads must not be taken for the next request on the
// connection.
void discard_body(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
