#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "redis/alarm.h"

// An alarm whose clock the test moves.
struct FakeAlarm final : petstore::redis::Alarm {
    std::uint64_t now() const noexcept override { return time; }
    void set(User& user, std::uint64_t at) noexcept override
    {
        user_ = &user;
        alarm = at;
    }
    void stop() noexcept override { alarm.reset(); }
    bool is_quitting() const noexcept override { return quitting; }

    // Lets time pass, and calls the user at each time that it set.
    void wait(std::uint64_t ms)
    {
        const std::uint64_t end = time + ms;
        while (alarm && *alarm <= end) {
            time = std::max(time, *std::exchange(alarm, std::nullopt));
            user_->on_alarm();
        }
        time = end;
    }

    bool quitting = false;
    std::uint64_t time = 10'000;
    std::optional<std::uint64_t> alarm;

private:
    User* user_ = nullptr;
};
