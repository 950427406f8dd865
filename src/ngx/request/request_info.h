#pragma once

#include <string_view>

#include "../../ngx_base/ngx.h"
#include "../../service/request_state.h"
#include "entered_location.h"
#include "guard.h"
#include "identity.h"

namespace petstore::ngx {

class BodyRequest;

// What the error filter keeps about the response of the main request.
struct ErrorPage {
    bool header_held = false;          // until the body shows whose page it is
    bool replaces = false;             // nginx's page is replaced by `body`
    ngx_str_t body = ngx_null_string;  // not yet sent
};

// What the module keeps about a client's request until it is logged: each
// member belongs to the code that declares its type. Lives in the pool of the
// main request; its subrequests and internal redirects share it.
struct RequestInfo {
    service::RequestState service;
    EnteredLocation entered;
    // r->err_status when nginx entered the current location: of the error whose
    // page it is to send, or 0.
    ngx_uint_t status_on_entry = 0;
    GuardState guard;
    const HiddenLine* hidden_lines = nullptr;
    ErrorPage error_page;
    BodyRequest* body_reader = nullptr;  // the latest; valid while it reads
    std::string_view preflight_methods;  // of the response to a CORS preflight
    bool body_refused = false;           // by refuse_too_large_body()
    // By send_response() for the main request. A filter may then drop the
    // response: nginx sends an error with another status, or at least sets
    // r->filter_finalize, which it never resets.
    struct {
        ngx_uint_t status = 0;       // as sent; 0 if there was none
        bool after_dropped = false;  // r->filter_finalize at that time
    } answered;
    const LocConf* deprecated_in = nullptr;  // where getPet answered, if it did
};

// nullptr if there is none.
RequestInfo* find_request_info(ngx_http_request_t* r) noexcept;

// Creates it if there is none. nullptr if out of memory.
RequestInfo* ensure_request_info(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
