#include "limiter.h"

#include <limits>

#include "../scripts.h"
#include "account_state.h"

namespace petstore::store {

namespace {

// What limit.lua replies: these, and two elements per account.
enum DecisionField : std::size_t { kNow, kLastId, kChanges, kAccounts };

// What limit.lua takes per account: five doubles.
constexpr std::size_t kRequestSize = 40;

// In place of the number of admitted requests.
constexpr std::int64_t kStale = -1;
constexpr std::int64_t kDamaged = -2;
constexpr std::int64_t kElsewhere = -3;

// What strike.lua replies.
enum StatusField : std::size_t {
    kDenials,
    kNewBan,
    kStatusNow,
    kState,
    kStatusSize,
};

// A larger number is not our scripts', and adding to it might overflow.
bool is_count(const redis::Reply& reply) noexcept
{
    return reply.is(redis::Type::integer) && reply.integer() >= 0
           && reply.integer() <= AccountState::kLargest;
}

// The value of a key.
bool is_value(const redis::Reply& reply) noexcept
{
    return reply.is(redis::Type::string) || reply.is(redis::Type::nil);
}

}  // namespace

Limiter::Limiter(const Schema& schema, Catalogue catalogue)
    : schema_(schema), brings_version_(catalogue == Catalogue::here),
      last_id_(schema.last_pet_id()), changes_(schema.changes())
{}

redis::Command Limiter::decide(const std::vector<LimitRequest>& requests) const
{
    const auto accounts = static_cast<std::int64_t>(requests.size());
    redis::Command command(scripts::limit(),
                           brings_version_ ? accounts + 2 : accounts);
    for (const LimitRequest& request : requests) {
        command.key(schema_.account_state(request.account));
    }
    if (brings_version_) {
        command.arg(last_id_).arg(changes_);
    }
    std::string packed;
    packed.reserve(requests.size() * kRequestSize);
    for (const LimitRequest& request : requests) {
        append_numbers(packed, {request.epoch, request.limits.minute,
                                request.limits.day, request.requests,
                                request.fresh ? 1 : 0});
    }
    return std::move(command.own(packed));
}

std::vector<LimitResult>
Limiter::parse_decisions(const redis::Reply& reply,
                         const std::vector<LimitRequest>& requests) const
{
    std::vector<LimitResult> results(requests.size());
    if (reply.size() != kAccounts + 2 * requests.size()
        || !is_count(reply[kNow]) || !is_value(reply[kLastId])
        || !is_value(reply[kChanges])) {
        return results;
    }
    std::optional<Version> version;
    if (brings_version_) {
        version = Version::parse(reply[kLastId], reply[kChanges]);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const LimitRequest& request = requests[i];
        const redis::Reply& admitted = reply[kAccounts + 2 * i];
        const redis::Reply& bytes = reply[kAccounts + 2 * i + 1];
        if (!admitted.is(redis::Type::integer)
            || admitted.integer() < kElsewhere
            || admitted.integer() > request.requests
            || !bytes.is(redis::Type::string)) {
            continue;
        }
        LimitResult& result = results[i];
        if (admitted.integer() == kElsewhere) {
            result.kind = LimitResult::Kind::elsewhere;
            continue;
        }
        const auto state = AccountState::decode(bytes.text());
        if (!state || admitted.integer() == kDamaged) {
            result.kind = LimitResult::Kind::damaged;
            continue;
        }
        result.epoch = state->epoch;
        if (admitted.integer() == kStale) {
            result.kind = LimitResult::Kind::stale;
            continue;
        }
        result.kind = LimitResult::Kind::decided;
        result.admitted = admitted.integer();
        result.minute = {request.limits.minute, state->minute_used,
                         state->minute_end};
        result.day = {request.limits.day, state->day_used, state->day_end};
        result.now = reply[kNow].integer();
        result.ban_until = state->ban_until;
        result.version = version;
    }
    return results;
}

api::Decision LimitResult::decision(std::int64_t index) const noexcept
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

redis::Command Limiter::report_denials(std::string_view account,
                                       std::int64_t epoch, std::int64_t denials,
                                       const api::Limits& limits,
                                       const api::BanPolicy& policy) const
{
    const std::int64_t threshold =
        policy.enabled ? policy.threshold_for(limits)
                       : std::numeric_limits<std::int64_t>::max();
    redis::Command command(scripts::strike(), 3);
    command.key(schema_.account_state(account))
        .key(schema_.strikes(account))
        .key(schema_.bans(account))
        .arg(epoch)
        .arg(denials)
        .arg(threshold)
        .arg(policy.window)
        .arg(policy.duration)
        .arg(policy.max);
    return command;
}

AccountStatus Limiter::parse_status(const redis::Reply& reply,
                                    const api::Limits& limits)
{
    AccountStatus status;
    if (reply.size() != kStatusSize || !reply[kDenials].is(redis::Type::integer)
        || !is_count(reply[kNewBan]) || !is_count(reply[kStatusNow])
        || !reply[kState].is(redis::Type::string)) {
        return status;
    }
    if (reply[kDenials].integer() == kStale) {
        status.kind = LimitResult::Kind::stale;
        return status;
    }
    const auto state = AccountState::decode(reply[kState].text());
    if (!state || !is_count(reply[kDenials])) {
        return status;
    }
    status.kind = LimitResult::Kind::decided;
    api::Decision& decision = status.decision;
    decision.minute = {limits.minute, state->minute_used, state->minute_end};
    decision.day = {limits.day, state->day_used, state->day_end};
    decision.now = reply[kStatusNow].integer();
    decision.ban_until = state->ban_until;
    if (decision.ban_until != 0) {
        decision.verdict = api::Verdict::banned;
    } else if (decision.minute.remaining() == 0
               || decision.day.remaining() == 0) {
        decision.verdict = api::Verdict::limited;
    } else {
        decision.verdict = api::Verdict::admitted;
    }
    status.denials = reply[kDenials].integer();
    status.new_ban = reply[kNewBan].integer() != 0;
    return status;
}

}  // namespace petstore::store
