#include "limiter.h"

#include <limits>

namespace petstore::store {

namespace {

// What limit.lua answers with.
enum AnswerField : std::size_t {
    kAdmitted,
    kMinuteUsed,
    kDayUsed,
    kMinuteReset,
    kDayReset,
    kNow,
    kBanUntil,
    kLastId,
    kChanges,
    kAnswerSize,
};

// What strike.lua answers with.
enum StandingField : std::size_t {
    kStandingMinuteUsed,
    kStandingDayUsed,
    kStandingMinuteReset,
    kStandingDayReset,
    kStandingNow,
    kStandingBanUntil,
    kStrikes,
    kNewBan,
    kStandingSize,
};

bool is_epoch(const resp::Reply& reply) noexcept
{
    return reply.is(resp::Type::string) && !reply.text().empty()
           && reply.text().find_first_not_of("0123456789")
                  == std::string_view::npos;
}

bool are_counts(const resp::Reply& reply, std::size_t size) noexcept
{
    if (reply.size() != size) {
        return false;
    }
    for (std::size_t i = 0; i < size; ++i) {
        if (!reply[i].is(resp::Type::integer) || reply[i].integer() < 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

Limiter::Limiter(const Schema& schema)
    : schema_(schema), last_id_(schema.last_pet_id()),
      changes_(schema.changes())
{}

resp::Command Limiter::decide(const Question& question, bool eval) const
{
    resp::Command command = call(scripts::limit(), 5, eval);
    command.own(schema_.account_state(question.account))
        .own(schema_.minute_window(question.account))
        .own(schema_.day_window(question.account))
        .arg(last_id_)
        .arg(changes_)
        .arg(question.epoch)
        .arg(question.limits.minute)
        .arg(question.limits.day)
        .arg(question.requests)
        .arg(question.tell_time ? "1" : "0");
    return command;
}

Limiter::Answer Limiter::parse_answer(const resp::Reply& reply,
                                      const api::Limits& limits)
{
    Answer answer;
    if (is_epoch(reply)) {
        answer.result = Answer::Result::stale;
        answer.epoch = reply.text();
        return answer;
    }
    // A window without an end would be a counter that never resets.
    if (!are_counts(reply, kAnswerSize) || reply[kMinuteReset].integer() == 0
        || reply[kDayReset].integer() == 0) {
        return answer;
    }
    answer.result = Answer::Result::decided;
    answer.admitted = reply[kAdmitted].integer();
    answer.minute = {limits.minute, reply[kMinuteUsed].integer(),
                     reply[kMinuteReset].integer()};
    answer.day = {limits.day, reply[kDayUsed].integer(),
                  reply[kDayReset].integer()};
    answer.now = reply[kNow].integer();
    answer.ban_until = reply[kBanUntil].integer();
    answer.version = {reply[kLastId].integer(), reply[kChanges].integer()};
    return answer;
}

api::Decision Limiter::Answer::decision(std::int64_t index) const noexcept
{
    api::Decision decision;
    decision.minute = minute;
    decision.day = day;
    decision.now = now;
    if (index < admitted) {
        decision.verdict = api::Verdict::admitted;
        const std::int64_t later = admitted - index - 1;
        decision.minute.used -= later;
        decision.day.used -= later;
    } else if (ban_until != 0) {
        decision.verdict = api::Verdict::banned;
        decision.ban_until = ban_until;
    } else {
        decision.verdict = api::Verdict::limited;
    }
    return decision;
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
        .own(schema_.bans(account))
        .arg(epoch)
        .arg(count)
        .arg(threshold)
        .arg(policy.window)
        .arg(policy.duration)
        .arg(policy.max);
    return command;
}

Limiter::Standing Limiter::parse_standing(const resp::Reply& reply,
                                          const api::Limits& limits)
{
    Standing standing;
    if (is_epoch(reply)) {
        standing.result = Answer::Result::stale;
        return standing;
    }
    if (!are_counts(reply, kStandingSize)) {
        return standing;
    }
    standing.result = Answer::Result::decided;
    api::Decision& decision = standing.decision;
    decision.minute = {limits.minute, reply[kStandingMinuteUsed].integer(),
                       reply[kStandingMinuteReset].integer()};
    decision.day = {limits.day, reply[kStandingDayUsed].integer(),
                    reply[kStandingDayReset].integer()};
    decision.now = reply[kStandingNow].integer();
    decision.ban_until = reply[kStandingBanUntil].integer();
    if (decision.ban_until != 0) {
        decision.verdict = api::Verdict::banned;
    } else if (decision.minute.remaining() == 0
               || decision.day.remaining() == 0) {
        decision.verdict = api::Verdict::limited;
    } else {
        decision.verdict = api::Verdict::admitted;
    }
    standing.strikes = reply[kStrikes].integer();
    standing.new_ban = reply[kNewBan].integer() != 0;
    return standing;
}

}  // namespace petstore::store
