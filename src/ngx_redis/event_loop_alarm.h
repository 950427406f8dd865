#pragma once

#include <cstdint>

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/alarm.h"

namespace petstore::ngx_redis {

// An nginx timer.
class EventLoopAlarm final : public redis::Alarm {
public:
    EventLoopAlarm(ngx_log_t* log, ngx_base::OnExit on_exit) noexcept
        : timer_(*this, log, on_exit)
    {}

    std::uint64_t now() const noexcept override { return ngx_current_msec; }

    void set(User& user, std::uint64_t time) noexcept override
    {
        user_ = &user;
        timer_.stop();
        timer_.start(ngx_base::time_left(time));
    }

    void stop() noexcept override { timer_.stop(); }

    bool is_quitting() const noexcept override
    {
        return ngx_base::is_quitting();
    }

private:
    void on_timer() noexcept { user_->on_alarm(); }

    User* user_ = nullptr;
    ngx_base::Timer<EventLoopAlarm, &EventLoopAlarm::on_timer> timer_;
};

}  // namespace petstore::ngx_redis
