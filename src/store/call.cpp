#include "call.h"

namespace petstore::store {

Failed refused(Refusal refusal, api::ErrorCode code, std::string message)
{
    Failure failure{{code, std::move(message)}};
    failure.refusal = refusal;
    return {std::move(failure)};
}

Failed damaged(std::string message)
{
    return refused(Refusal::damaged, api::ErrorCode::internal_error,
                   std::move(message));
}

Failed damaged_redis_key(const Damage& damage)
{
    Failed failed = damaged(damage.message());
    failed.redis_key = damage.key;
    return failed;
}

Failed invalid(Failure failure)
{
    failure.refusal = Refusal::invalid;
    return {std::move(failure)};
}

void rethrow_not_in_effect()
{
    try {
        throw;
    } catch (Failed& failed) {
        failed.failure.not_in_effect = true;
        throw;
    } catch (...) {
        Failure failure = failure_of(redis::NoReply::not_sent, Purpose::change);
        failure.not_in_effect = true;
        throw Failed{std::move(failure)};
    }
}

void Rounds::next()
{
    if (--left_ == 0) {
        throw Failed{unavailable()};
    }
}

const redis::Reply& Call::await_resume() const
{
    const auto purpose = kind_ == Kind::read ? Purpose::read : Purpose::change;
    if (reply_ == nullptr) {
        Failure failure = failure_of(cause_, purpose);
        failure.not_in_effect = kind_ == Kind::staged_change;
        throw Failed{std::move(failure), true};
    }
    if (const Damage damage = damage_of(*reply_, key_); !damage.key.empty()) {
        throw damaged_redis_key(damage);
    }
    if (reply_->is_error()) {
        throw Failed{failure_of(*reply_, purpose)};
    }
    operation_->changed |= purpose == Purpose::change;
    return *reply_;
}

}  // namespace petstore::store
