#include "limiter.h"

#include <limits>

namespace petstore::store
{

namespace
{

// What the scripts answer with, see limit.lua and strike.lua.
enum Field : std::size_t {
    kMinuteUsed,
    kDayUsed,
    kMinuteReset,
    kDayReset,
    kAdmittedSize,
    kNow = kAdmittedSize,
    kBanUntil,
    kDeniedSize,
    kStrikes = kDeniedSize,
    kNewBan,
    kStrikeSize,
};

bool is_epoch(std::string_view text) noexcept
{
    return !text.empty()
           && text.find_first_not_of("0123456789") == std::string_view::npos;
}

} // namespace

resp::Command Limiter::decide(std::string_view account, std::string_view epoch,
                              const api::Limits& limits, bool eval) const
{
    resp::Command command = call(scripts::limit(), 3, eval);
    command.own(schema_.account_state(account))
        .own(schema_.minute_window(account))
        .own(schema_.day_window(account));
    command.own(epoch).arg(limits.minute).arg(limits.day);
    return command;
}

resp::Command Limiter::strike(std::string_view account, std::string_view epoch,
                              std::int64_t count, const api::Limits& limits,
                              const api::BanPolicy& policy, bool eval) const
{
    const std::int64_t threshold =
        policy.enabled ? policy.threshold_for(limits)
                       : std::numeric_limits<std::int64_t>::max();
    resp::Command command = call(scripts::strike(), 5, eval);
    command.own(schema_.account_state(account))
        .own(schema_.minute_window(account))
        .own(schema_.day_window(account))
        .own(schema_.strikes(account))
        .own(schema_.bans(account));
    command.own(epoch)
        .arg(count)
        .arg(threshold)
        .arg(policy.window)
        .arg(policy.duration)
        .arg(policy.max);
    return command;
}

Limiter::Answer Limiter::parse(const resp::Reply& reply,
                               const api::Limits& limits)
{
    Answer answer;
    if (reply.is(resp::Type::string)) {
        if (is_epoch(reply.text())) {
            answer.result = Answer::Result::stale;
            answer.epoch = reply.text();
        }
        return answer;
    }

    const std::size_t size = reply.size();
    if (size != kAdmittedSize && size != kDeniedSize && size != kStrikeSize)
        return answer;
    for (std::size_t i = 0; i < size; ++i) {
        if (!reply[i].is(resp::Type::integer) || reply[i].integer() < 0)
            return answer;
    }
    // A window or an answer without a time: a counter that lost its end.
    if (!reply[kMinuteReset].integer() || !reply[kDayReset].integer()
        || (size > kAdmittedSize && !reply[kNow].integer()))
        return answer;

    answer.result = Answer::Result::decided;
    api::Decision& decision = answer.decision;
    decision.minute = {limits.minute, reply[kMinuteUsed].integer(),
                       reply[kMinuteReset].integer()};
    decision.day = {limits.day, reply[kDayUsed].integer(),
                    reply[kDayReset].integer()};
    if (size == kAdmittedSize) {
        decision.verdict = api::Verdict::admitted;
        return answer;
    }
    decision.now = reply[kNow].integer();
    decision.ban_until = reply[kBanUntil].integer();
    decision.verdict =
        decision.ban_until ? api::Verdict::banned : api::Verdict::limited;
    if (size == kStrikeSize) {
        answer.strikes = reply[kStrikes].integer();
        answer.new_ban = reply[kNewBan].integer() != 0;
        if (!decision.ban_until && decision.minute.remaining()
            && decision.day.remaining())
            decision.verdict = api::Verdict::admitted;
    }
    return answer;
}

} // namespace petstore::store
