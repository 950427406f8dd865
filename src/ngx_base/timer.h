#pragma once

#include "ngx.h"

namespace petstore::ngx_base {

// The milliseconds from now to `time`, a value of ngx_current_msec; 0 if it is
// past.
inline ngx_msec_t time_left(ngx_msec_t time) noexcept
{
    const auto left = static_cast<ngx_msec_int_t>(time - ngx_current_msec);
    return left > 0 ? static_cast<ngx_msec_t>(left) : 0;
}

// Whether a pending timer delays the exit of a quitting worker; see
// ngx_event_no_timers_left().
enum class OnExit { delay, cancel };

// A one-shot timer that calls a member function.
template <typename T, void (T::*Fire)() noexcept>
class Timer {
public:
    Timer(T& owner, ngx_log_t* log, OnExit on_exit) noexcept
    {
        event_.data = &owner;
        event_.log = log;
        event_.cancelable = on_exit == OnExit::cancel ? 1 : 0;
        event_.handler = [](ngx_event_t* event) noexcept {
            (static_cast<T*>(event->data)->*Fire)();
        };
    }

    ~Timer() { stop(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    void start(ngx_msec_t delay) noexcept { ngx_add_timer(&event_, delay); }

    void stop() noexcept
    {
        if (event_.timer_set) {
            ngx_del_timer(&event_);
        }
    }

    bool running() const noexcept { return event_.timer_set; }

private:
    ngx_event_t event_{};
};

// Calls a member function once at the end of the current event-loop iteration,
// no matter how often it was posted.
template <typename T, void (T::*Fire)() noexcept>
class PostedEvent {
public:
    PostedEvent(T& owner, ngx_log_t* log) noexcept
    {
        event_.data = &owner;
        event_.log = log;
        event_.handler = [](ngx_event_t* event) noexcept {
            (static_cast<T*>(event->data)->*Fire)();
        };
    }

    ~PostedEvent()
    {
        if (event_.posted) {
            ngx_delete_posted_event(&event_);
        }
    }

    PostedEvent(const PostedEvent&) = delete;
    PostedEvent& operator=(const PostedEvent&) = delete;

    void post() noexcept { ngx_post_event(&event_, &ngx_posted_events); }

private:
    ngx_event_t event_{};
};

// Limits a repeated log message to one per interval.
template <ngx_msec_t Interval>
class OncePer {
public:
    bool due() noexcept
    {
        if (used_ && ngx_current_msec - last_ < Interval) {
            return false;
        }
        used_ = true;
        last_ = ngx_current_msec;
        return true;
    }

private:
    ngx_msec_t last_ = 0;
    bool used_ = false;
};

using OncePerSecond = OncePer<1000>;
using OncePerMinute = OncePer<60'000>;

}  // namespace petstore::ngx_base
