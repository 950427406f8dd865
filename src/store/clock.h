#pragma once

#include <cstdint>

#include "../api/limit.h"

namespace petstore::store {

// Milliseconds on this process's monotonic clock.
using Monotonic = std::uint64_t;

class Clock {
public:
    virtual Monotonic monotonic() const noexcept = 0;
    virtual api::Millis host_time() const noexcept = 0;  // by this host's clock

protected:
    ~Clock() = default;
};

}  // namespace petstore::store
