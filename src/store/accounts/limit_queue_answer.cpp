// What a request learns from the limiter's result for its account.
#include "../failure.h"
#include "limit_queue.h"

namespace petstore::store {

// The limiter's result for one of the account's requests.
Outcome<LimitAnswer> LimitQueue::answer(const LimitResult& result,
                                        std::string_view account,
                                        std::int64_t index) noexcept
{
    using Kind = LimitAnswer::Kind;
    switch (result.kind) {
    case LimitResult::Kind::decided:
        return LimitAnswer{Kind::decided, 0, result.decision(index),
                           result.version};
    case LimitResult::Kind::stale:
        return LimitAnswer{Kind::stale, result.epoch, {}, std::nullopt};
    case LimitResult::Kind::unplaced:
        return LimitAnswer{Kind::unplaced, 0, {}, std::nullopt};
    case LimitResult::Kind::damaged:
        limiter_.report_damage(account, damage_log_);
        return Failure{damage_error()};
    case LimitResult::Kind::elsewhere:
        log_.limits_elsewhere();
        return not_counted();
    case LimitResult::Kind::alone:
    case LimitResult::Kind::invalid:
        break;
    }
    log_.unexpected_limiter_reply();
    return not_counted();
}

}  // namespace petstore::store
