#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "../redis/in_flight.h"
#include "../redis/script_call.h"
#include "waiter.h"

namespace petstore::store {

// An operation of administration: steps that each send one command and say what
// follows its reply. A step's last action is to send, to fail or to finish,
// because each of them may end the operation. What a step throws, usually for
// lack of memory, and an error of Redis end it as a failure.
class Steps : private redis::ScriptCall {
public:
    // The operations that wait for Redis.
    struct Running;
    using All = redis::InFlight<Running>;
    struct Running : All::Item {
        std::unique_ptr<Steps> steps;
    };

    virtual ~Steps() = default;
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;

protected:
    Steps() = default;

    using Next = std::function<void(const redis::Reply&)>;

    // After which failures of a command a change may be stored but not in
    // effect; see Failure::not_in_effect.
    enum class NotInEffectAfter { no_failure, lost_reply, any_failure };

    // Sends a command that changes nothing, or one that does.
    void
    ask(redis::Link& link, redis::Command command, Next next,
        NotInEffectAfter not_in_effect_after = NotInEffectAfter::no_failure);
    void
    change(redis::Link& link, redis::Command command, Next next,
           NotInEffectAfter not_in_effect_after = NotInEffectAfter::no_failure);

    // The operation completes a change even where it finds nothing to do, so
    // any lost reply means that the change may not be in effect.
    void must_be_repeated_if_lost() noexcept { repeat_if_lost_ = true; }

    void refuse(Refusal refusal, api::ErrorCode code, std::string message,
                NotInEffectAfter after = NotInEffectAfter::no_failure);
    void refuse_damaged(std::string message);
    virtual void fail(Failure failure) noexcept = 0;

    // Takes the operation out of its owner, which may then be destroyed.
    auto release() noexcept { return all_->take(*self_); }

private:
    template <typename Op, typename... Args>
    friend void run(All& all, Args&&... args);

    virtual void start() = 0;

    void begin() noexcept;
    void send(redis::Link& link, redis::Command command, Next next, bool write,
              NotInEffectAfter not_in_effect_after);
    void on_result(const redis::Reply& reply) noexcept final;
    void on_no_result(redis::NoReply cause) noexcept final;

    All* all_ = nullptr;
    Running* self_ = nullptr;
    Next next_;
    std::string key_;  // that of the last command
    bool write_ = false;
    NotInEffectAfter not_in_effect_after_ = NotInEffectAfter::no_failure;
    bool repeat_if_lost_ = false;
};

// Completes such steps with the result for a waiter. `Base` are the steps that
// the operation shares with others.
template <typename Base, typename T>
class Operation : public Base {
public:
    template <typename... Args>
    explicit Operation(Waiter<T>& waiter, Args&&... args)
        : Base(std::forward<Args>(args)...), waiter_(waiter)
    {}

protected:
    void finish(Outcome<T> outcome) noexcept
    {
        const auto self = this->release();
        waiter_.on_result(outcome);
    }

    void fail(Failure failure) noexcept final { finish(std::move(failure)); }

private:
    Waiter<T>& waiter_;
};

// Runs an operation. Throws std::bad_alloc, and has then done nothing.
template <typename Op, typename... Args>
void run(Steps::All& all, Args&&... args)
{
    auto steps = std::make_unique<Op>(std::forward<Args>(args)...);
    Steps& started = *steps;
    auto& running = all.start();
    running.steps = std::move(steps);
    started.all_ = &all;
    started.self_ = &running;
    started.begin();
}

}  // namespace petstore::store
