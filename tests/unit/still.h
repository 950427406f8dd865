#pragma once

#include "redis/alarm.h"
#include "store/clock.h"

// A clock that stands still.
struct FixedClock final : petstore::store::Clock {
    petstore::store::Monotonic monotonic() const noexcept override
    {
        return 5000;
    }
    petstore::api::Millis host_time() const noexcept override
    {
        return 1'000'000;
    }
};

// An alarm that never goes off.
struct SilentAlarm final : petstore::redis::Alarm {
    std::uint64_t now() const noexcept override { return 0; }
    void set(User&, std::uint64_t) noexcept override {}
    void stop() noexcept override {}
};
