#pragma once

#include <cstddef>
#include <string>

namespace petstore::service {

// Waits for the request body.
class BodyWaiter {
public:
    enum class Result { complete, too_large, timed_out };

    virtual void on_body(Result result, const std::string& body) noexcept = 0;

protected:
    ~BodyWaiter() = default;
};

// Reads the body of one request.
class BodySource {
public:
    // Call at most once. Reads up to `limit` bytes. Calls the waiter once,
    // possibly before this returns, unless the request ends first: a malformed
    // body or a disconnected client ends it without the service.
    virtual void read(std::size_t limit, BodyWaiter& waiter) noexcept = 0;

protected:
    ~BodySource() = default;
};

}  // namespace petstore::service
