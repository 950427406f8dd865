#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "../store/accounts/denial_reporter.h"
#include "../store/pets/response_cache.h"

namespace petstore::service {

// A response without the headers that all responses have. Views must be valid
// until Responder::respond() returns; those marked "constant", forever.
struct Response {
    int status = 200;
    std::string_view body;
    std::shared_ptr<const store::CachedResponse> cached;  // instead of `body`

    std::string_view allow;         // constant
    std::string_view etag;          // constant; with it, clients may cache
    std::string_view authenticate;  // WWW-Authenticate, constant
    std::string link;
    std::string location;
    std::int64_t retry_after = 0;  // seconds; 0 for none
    bool replayed = false;         // Idempotent-Replayed
};

// Waits for the request body.
class BodyWaiter {
public:
    enum class Result { complete, too_large, timed_out };

    virtual void on_body(Result result, const std::string& body) noexcept = 0;

protected:
    ~BodyWaiter() = default;
};

// How the service responds to a request.
class Responder : public store::BanLog {
public:
    // Ends the request, which may be gone when this returns.
    virtual void respond(const Response& response) noexcept = 0;

    // Ends the request with a 500 because of an exception.
    virtual void fail() noexcept = 0;

    // Reads the body, up to `limit` bytes. Calls the waiter once, possibly
    // before this returns, unless the request ends first: a malformed body or a
    // disconnected client ends it without the service.
    virtual void read_body(std::size_t limit, BodyWaiter& waiter) noexcept = 0;

    // Enclose work started by a Redis reply rather than by nginx.
    virtual void begin_event() noexcept = 0;
    virtual void end_event() noexcept = 0;

    virtual void log_exception(const char* what) noexcept = 0;
    // A dry run would have refused the request because of this account's
    // limits, or with nullptr, because of the limit of the client's address.
    virtual void log_dry_run(const store::Account* account) noexcept = 0;

    // The task's request has ended and nothing is outstanding: destroy the
    // task.
    virtual void release() noexcept = 0;

protected:
    ~Responder() = default;
};

}  // namespace petstore::service
