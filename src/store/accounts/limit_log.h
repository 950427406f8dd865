#pragma once

namespace petstore::store {

// Receives reports about the limiter for the operator.
class LimitLog {
public:
    virtual void unexpected_limiter_reply() noexcept = 0;

    // The counters have been moved to another Redis than the one asked.
    virtual void limits_elsewhere() noexcept = 0;

protected:
    ~LimitLog() = default;
};

}  // namespace petstore::store
