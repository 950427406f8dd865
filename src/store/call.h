#pragma once

#include <coroutine>
#include <string>
#include <utility>

#include "../redis/script_call.h"
#include "damage.h"
#include "failure.h"
#include "operations.h"

// A command that a task awaits (see task.h), and how tasks fail.

namespace petstore::store {

// How a task fails. Never leaves an operation: run() makes it an outcome.
struct Failed {
    Failure failure;
    bool no_reply = false;  // the command was not sent, or its reply was lost
    std::string redis_key = {};  // the one that is damaged, if that is known
};

Failed refused(Refusal refusal, api::ErrorCode code, std::string message);
Failed damaged(std::string message);
Failed damaged_redis_key(const Damage& damage);
Failed invalid(Failure failure);  // what the caller wants to change

// Throws the exception that is being handled as a failure after which a change
// may be stored but not in effect.
[[noreturn]] void rethrow_not_in_effect();

// Counts the rounds of a loop that repeats because others have changed what it
// changes. Usually one of them gets ahead in each round, but two that undo each
// other's work, in step, would never end. next() fails after a number of rounds
// that only those reach.
class Rounds {
public:
    void next();

private:
    int left_ = 1000;
};

// One command: co_await gives its reply, which is valid until the next
// co_await. No reply, and an error, are thrown as Failed.
class [[nodiscard]] Call final : private redis::ScriptCall {
public:
    enum class Kind {
        read,
        change,
        // Takes effect only with a later command. If its reply is lost, the
        // change may be stored but not in effect.
        staged_change,
    };

    Call(redis::Link& link, redis::Command command, Kind kind)
        : link_(link), command_(std::move(command)),
          key_(command_.routing_key()), kind_(kind)
    {}

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> task) noexcept
    {
        task_ = task;
        operation_ = task.promise().operation;
        start(link_, std::move(command_));  // may destroy this
    }
    const redis::Reply& await_resume() const;

private:
    void on_result(const redis::Reply& reply) noexcept override
    {
        reply_ = &reply;
        task_.resume();
    }
    void on_no_result(redis::NoReply cause) noexcept override
    {
        cause_ = cause;
        task_.resume();
    }

    redis::Link& link_;
    redis::Command command_;
    const std::string key_;
    const Kind kind_;
    std::coroutine_handle<> task_;
    Operation* operation_ = nullptr;
    const redis::Reply* reply_ = nullptr;
    redis::NoReply cause_ = redis::NoReply::not_sent;
};

inline Call ask(redis::Link& link, redis::Command command)
{
    return {link, std::move(command), Call::Kind::read};
}
inline Call change(redis::Link& link, redis::Command command)
{
    return {link, std::move(command), Call::Kind::change};
}
inline Call stage_change(redis::Link& link, redis::Command command)
{
    return {link, std::move(command), Call::Kind::staged_change};
}

}  // namespace petstore::store
