#include "limiter.h"

#include <limits>

#include "account_state.h"

namespace petstore::store {

namespace {

// What limit.lua answers with: this, and two elements for each account.
enum AnswerField : std::size_t { kNow, kLastId, kChanges, kAccounts };

// What it is asked of an account: five doubles.
constexpr std::size_t kQuestionSize = 40;

// … in place of the number of admitted requests.
constexpr std::int64_t kStale = -1;
constexpr std::int64_t kDamaged = -2;

// What strike.lua answers with.
enum StandingField : std::size_t {
    kStrikes,
    kNewBan,
    kStandingNow,
    kState,
    kStandingSize,
};

bool is_count(const resp::Reply& reply) noexcept
{
    return reply.is(resp::Type::integer) && reply.integer() >= 0;
}

// The value of a key.
bool is_value(const resp::Reply& reply) noexcept
{
    return reply.is(resp::Type::string) || reply.is(resp::Type::nil);
}

}  // namespace

Limiter::Limiter(const Schema& schema)
    : schema_(schema), last_id_(schema.last_pet_id()),
      changes_(schema.changes())
{}

resp::Command Limiter::decide(const std::vector<Question>& questions,
                              bool eval) const
{
    resp::Command command =
        call(scripts::limit(), static_cast<std::int64_t>(questions.size()) + 2,
             eval);
    for (const Question& question : questions) {
        command.own(schema_.account_state(question.account));
    }
    std::string asked;
    asked.reserve(questions.size() * kQuestionSize);
    for (const Question& question : questions) {
        append_numbers(asked, {question.epoch, question.limits.minute,
                               question.limits.day, question.requests,
                               question.fresh ? 1 : 0});
    }
    return command.arg(last_id_).arg(changes_).own(asked);
}

std::vector<Limiter::Answer>
Limiter::parse_answers(const resp::Reply& reply,
                       const std::vector<Question>& questions)
{
    std::vector<Answer> answers(questions.size());
    if (reply.size() != kAccounts + 2 * questions.size()
        || !is_count(reply[kNow]) || !is_value(reply[kLastId])
        || !is_value(reply[kChanges])) {
        return answers;
    }
    const auto version = Version::parse(reply[kLastId], reply[kChanges]);
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const Question& question = questions[i];
        const resp::Reply& admitted = reply[kAccounts + 2 * i];
        const resp::Reply& bytes = reply[kAccounts + 2 * i + 1];
        if (!admitted.is(resp::Type::integer) || admitted.integer() < kDamaged
            || admitted.integer() > question.requests
            || !bytes.is(resp::Type::string)) {
            continue;
        }
        Answer& answer = answers[i];
        const auto state = AccountState::decode(bytes.text());
        if (!state || admitted.integer() == kDamaged) {
            answer.result = Answer::Result::damaged;
            continue;
        }
        answer.epoch = state->epoch;
        if (admitted.integer() == kStale) {
            answer.result = Answer::Result::stale;
            continue;
        }
        answer.result = Answer::Result::decided;
        answer.admitted = admitted.integer();
        answer.minute = {question.limits.minute, state->minute_used,
                         state->minute_end};
        answer.day = {question.limits.day, state->day_used, state->day_end};
        answer.now = reply[kNow].integer();
        answer.ban_until = state->ban_until;
        answer.version = version;
    }
    return answers;
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

resp::Command Limiter::strike(std::string_view account, std::int64_t epoch,
                              std::int64_t count, const api::Limits& limits,
                              const api::BanPolicy& policy, bool eval) const
{
    const std::int64_t threshold =
        policy.enabled ? policy.threshold_for(limits)
                       : std::numeric_limits<std::int64_t>::max();
    resp::Command command = call(scripts::strike(), 3, eval);
    command.own(schema_.account_state(account))
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
    if (reply.size() != kStandingSize
        || !reply[kStrikes].is(resp::Type::integer) || !is_count(reply[kNewBan])
        || !is_count(reply[kStandingNow])
        || !reply[kState].is(resp::Type::string)) {
        return standing;
    }
    if (reply[kStrikes].integer() == kStale) {
        standing.result = Answer::Result::stale;
        return standing;
    }
    const auto state = AccountState::decode(reply[kState].text());
    if (!state || reply[kStrikes].integer() < 0) {
        return standing;
    }
    standing.result = Answer::Result::decided;
    api::Decision& decision = standing.decision;
    decision.minute = {limits.minute, state->minute_used, state->minute_end};
    decision.day = {limits.day, state->day_used, state->day_end};
    decision.now = reply[kStandingNow].integer();
    decision.ban_until = state->ban_until;
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
