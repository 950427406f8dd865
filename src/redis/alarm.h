#pragma once

#include <cstdint>

namespace petstore::redis {

// One timer, and the clock that it runs by. Times are milliseconds of a
// monotonic clock.
class Alarm {
public:
    class User {
    public:
        virtual void on_alarm() noexcept = 0;

    protected:
        ~User() = default;
    };

    virtual std::uint64_t now() const noexcept = 0;

    // Calls on_alarm() of `user` once, at this time. Replaces the previous
    // time.
    virtual void set(User& user, std::uint64_t time) noexcept = 0;
    virtual void stop() noexcept = 0;

    // Whether the process exits once its alarms have gone off.
    virtual bool is_quitting() const noexcept { return false; }

protected:
    ~Alarm() = default;
};

}  // namespace petstore::redis
