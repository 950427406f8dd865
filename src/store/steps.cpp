#include "steps.h"

#include "../redis/error_table.h"
#include "damage.h"
#include "failure.h"

namespace petstore::store {

void Steps::ask(redis::Link& link, redis::Command command, Next next,
                NotInEffectAfter not_in_effect_after)
{
    send(link, std::move(command), std::move(next), false, not_in_effect_after);
}

void Steps::change(redis::Link& link, redis::Command command, Next next,
                   NotInEffectAfter not_in_effect_after)
{
    send(link, std::move(command), std::move(next), true, not_in_effect_after);
}

void Steps::send(redis::Link& link, redis::Command command, Next next,
                 bool write, NotInEffectAfter not_in_effect_after)
{
    key_ = command.routing_key();
    next_ = std::move(next);
    write_ = write;
    not_in_effect_after_ = not_in_effect_after;
    ScriptCall::start(link, std::move(command));
}

void Steps::refuse(Refusal refusal, api::ErrorCode code, std::string message,
                   NotInEffectAfter after)
{
    Failure failure{{code, std::move(message)}};
    failure.refusal = refusal;
    failure.not_in_effect = after == NotInEffectAfter::any_failure;
    fail(std::move(failure));
}

void Steps::refuse_damaged(std::string message)
{
    refuse(Refusal::damaged, api::ErrorCode::internal_error,
           std::move(message));
}

void Steps::begin() noexcept
{
    try {
        start();
    } catch (...) {
        on_no_result(redis::NoReply::not_sent);
    }
}

void Steps::on_result(const redis::Reply& reply) noexcept
{
    try {
        if (redis::is_wrong_type(reply)) {
            return refuse(
                Refusal::damaged, api::ErrorCode::internal_error,
                "the Redis key " + key_
                    + " is damaged: it holds another type; repair it first",
                not_in_effect_after_);
        }
        if (reply.is_error()) {
            Failure failure = failure_of(reply, write_);
            failure.not_in_effect =
                not_in_effect_after_ == NotInEffectAfter::any_failure;
            return fail(std::move(failure));
        }
        const Next next = std::exchange(next_, nullptr);
        next(reply);
    } catch (...) {
        on_no_result(redis::NoReply::not_sent);
    }
}

void Steps::on_no_result(redis::NoReply cause) noexcept
{
    Failure failure = failure_of(cause, write_);
    failure.not_in_effect =
        repeat_if_lost_ || not_in_effect_after_ != NotInEffectAfter::no_failure;
    fail(std::move(failure));
}

}  // namespace petstore::store
