#pragma once

#include <optional>
#include <string_view>

#include "../api/limit.h"
#include "../api/router.h"
#include "../store/clock.h"
#include "../store/keys/key_cache.h"
#include "request.h"

namespace petstore::service {

class Admission;

// The outcome of a request, for its headers and its log line.
struct RequestReport {
    api::Operation operation = api::Operation::none;
    bool wants_document = false;  // GET, HEAD, … of the OpenAPI document
    bool deprecated = false;      // the response announces the operation's end
    std::string_view limit_status;
    std::string_view error_code;
};

// What is known about a client's request, shared by its subrequests and
// internal redirects, until it is logged. The report is that of the main
// request, or of its subrequests if the service does not answer the main one.
struct RequestState : RequestReport {
    bool answers_main = false;  // the report is the main request's

    // A client's request is charged once: other parts of it use `decision`, or
    // wait for `deciding`. After a lost reply the limiter is not asked again,
    // because the request may have been charged.
    bool decided = false;
    api::Decision decision;
    Admission* deciding = nullptr;  // waits for the limiter
    bool decision_lost = false;

    bool has_rate = false;
    api::RateView rate;
    bool has_windows = false;  // `decision` holds both windows

    // The window of the client's address, once the request was counted there.
    std::optional<AddressWindow> address;

    store::Ref<const store::CachedKey> key;  // nullptr without a valid one
    store::RefusedKey refused_key;           // why there is no valid one

    bool asked_redis = false;
    store::Monotonic redis_started = 0;
    store::Monotonic redis_time = 0;  // milliseconds
};

}  // namespace petstore::service
