#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "../api/error.h"
#include "../api/limit.h"
#include "../api/router.h"
#include "../store/answer_cache.h"
#include "../store/key_cache.h"
#include "config.h"
#include "headers.h"
#include "ngx.h"

namespace petstore::ngx {

class BodyReader;
class Exchange;

// What the module remembers of a request until its log line is written; the
// variables read it. It lives in the request's pool, found by request_info()
// across internal redirects, and belongs to the main request.
struct RequestInfo {
    api::Operation operation = api::Operation::none;
    bool deprecated = false;  // the answer announces the end of the operation
    bool generated_by_module = false;  // the response is written by this module
    bool replaced = false;             // an error of nginx's was given our body
    Exchange* asking = nullptr;  // the part of it that waits for the limiter
    bool charged = false;        // the limiter has decided on this request
    api::Decision decision;      // … like this
    ngx_str_t error_json = ngx_null_string;

    bool has_rate = false;
    api::RateView rate;
    bool has_windows = false;  // decision holds both windows

    std::shared_ptr<const store::CachedKey> key;  // nullptr: none that is valid
    std::string_view limit_status;
    std::string_view error_code;
    BodyReader* body_reader = nullptr;  // while it waits for the client
    bool asked_redis = false;
    ngx_msec_t redis_started = 0;
    ngx_msec_t redis_time = 0;
};

// nullptr when there is none, or with `create` when memory is out.
RequestInfo* request_info(ngx_http_request_t* r, bool create) noexcept;

// The headers that every answer of the service carries: the rate headers,
// Cache-Control unless an operator's module has set it, and the deprecation
// headers where they belong. Without a known key the rate headers describe the
// window of the client's address.
bool add_common_headers(ngx_http_request_t* r, RequestInfo& info) noexcept;

// Sends a whole response; nothing may be added after it. `body` is copied.
// Returns what the request is to be finalized with.
ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        ngx_int_t status, std::string_view body) noexcept;

// The same with a body that is shared, not copied, until it was sent.
ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        ngx_int_t status,
                        std::shared_ptr<const store::Answer> answer) noexcept;

}  // namespace petstore::ngx
