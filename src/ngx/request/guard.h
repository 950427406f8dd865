#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

class GuardedRequest;
struct LocConf;
struct RequestInfo;

// The guard's refusal of the main request, for its error page.
struct GuardRefusal {
    int status = 0;  // 0: not refused
    ngx_str_t body = ngx_null_string;
    int locations_since = 0;  // that the request has entered, at most 2
    bool repeated = false;    // at least two
};

// What the guard keeps about a client's request.
struct GuardState {
    GuardedRequest* passes = nullptr;  // of the request and its subrequests
    // The first location whose guard checked the main request; nullptr if none
    // has.
    const LocConf* first = nullptr;
    GuardRefusal refusal;
};

// Whether the request is in a location with a guard. petstore_status and
// petstore_health need no key, even where a guard is inherited.
bool is_in_guarded_location(ngx_http_request_t* r) noexcept;

// Whether the guard lets the request through because it shows the page of a
// refusal: of one by the guard itself, or of one by nginx before the guard.
bool is_page_of_refusal(ngx_http_request_t* r, const RequestInfo& info,
                        const LocConf& conf) noexcept;

}  // namespace petstore::ngx
