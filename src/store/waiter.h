#pragma once

#include "outcome.h"

namespace petstore::store {

// Waits for one result from Redis. Must stay alive until on_result() is called:
// exactly once, possibly before the function that was given the waiter returns.
template <typename T>
class Waiter {
public:
    // The outcome belongs to the caller and may be shared by several waiters.
    virtual void on_result(const Outcome<T>& outcome) noexcept = 0;

protected:
    ~Waiter() = default;
};

}  // namespace petstore::store
