#include "limit_commands.h"

#include <algorithm>

#include "../scripts.h"
#include "account_state.h"

namespace petstore::store {

namespace {

// The reply element of an account that is not "usual"; see limit.lua.
enum AnswerField : std::size_t { kAdmitted, kAnswerState, kAnswerSize };

// Returned in place of the number of admitted requests.
constexpr std::int64_t kStale = -1;
constexpr std::int64_t kDamaged = -2;
constexpr std::int64_t kElsewhere = -3;
constexpr std::int64_t kUnplaced = -4;
constexpr std::int64_t kAlone = -5;

// What strike.lua replies.
enum StatusField : std::size_t {
    kStrikes,
    kNewBan,
    kStatusNow,
    kState,
    kStatusSize,
};

// Our scripts never return a larger number, and adding to one might overflow.
bool is_count(const redis::Reply& reply) noexcept
{
    return reply.is(redis::Type::integer) && reply.integer() >= 0
           && reply.integer() <= AccountState::kLargest;
}

LimitResult::Kind kind_without_state(std::int64_t admitted) noexcept
{
    switch (admitted) {
    case kElsewhere:
        return LimitResult::Kind::elsewhere;
    case kUnplaced:
        return LimitResult::Kind::unplaced;
    default:
        return LimitResult::Kind::alone;
    }
}

LimitResult of_kind(LimitResult::Kind kind) noexcept
{
    LimitResult result;
    result.kind = kind;
    return result;
}

// `T` is a LimitResult or an api::Decision.
template <typename T>
void set_windows(T& out, const AccountState& state,
                 const api::Limits& limits) noexcept
{
    out.minute = {limits.minute, state.minute_used, state.minute_end};
    out.day = {limits.day, state.day_used, state.day_end};
    out.month = {limits.month, state.month_used,
                 limits.has_month() ? state.month_end() : 0};
    out.ban_until = state.ban_until;
}

LimitResult decided(const AccountState& state, std::int64_t admitted,
                    const LimitRequest& request) noexcept
{
    LimitResult result = of_kind(LimitResult::Kind::decided);
    result.epoch = state.epoch;
    result.admitted = admitted;
    result.cost = request.cost;
    set_windows(result, state, request.limits);
    return result;
}

// Parses the result of a "usual" account; see limit.lua. This and
// parse_answer() leave the members unset that are the same for all accounts of
// the reply.
LimitResult parse_windows(std::string_view windows, api::Millis now,
                          const LimitRequest& request) noexcept
{
    const auto state = AccountState::decode_windows(
        request.epoch, api::day_of(now / 1000), windows);
    return state ? decided(*state, request.requests, request)
                 : of_kind(LimitResult::Kind::damaged);
}

LimitResult parse_answer(const redis::Reply& answer, api::Millis now,
                         const LimitRequest& request) noexcept
{
    using Kind = LimitResult::Kind;
    if (answer.is(redis::Type::string)
        && answer.text().size() == AccountState::kWindowsSize) {
        return parse_windows(answer.text(), now, request);
    }
    if (answer.size() != kAnswerSize
        || !answer[kAdmitted].is(redis::Type::integer)
        || !answer[kAnswerState].is(redis::Type::string)) {
        return {};
    }
    const std::int64_t admitted = answer[kAdmitted].integer();
    if (admitted < kAlone || admitted > request.requests) {
        return {};
    }
    if (admitted <= kElsewhere) {
        return of_kind(kind_without_state(admitted));
    }
    const auto state = AccountState::decode(answer[kAnswerState].text());
    if (!state || admitted == kDamaged) {
        return of_kind(Kind::damaged);
    }
    if (admitted == kStale) {
        LimitResult result = of_kind(Kind::stale);
        result.epoch = state->epoch;
        return result;
    }
    return decided(*state, admitted, request);
}

// The end of every reply: when it was decided, and the catalogue's version.
struct Stamp {
    api::Millis now;
    std::string_view count;
    std::string_view changes;
};

std::optional<Stamp> parse_stamp(std::string_view bytes) noexcept
{
    constexpr std::size_t kLengths = sizeof(double);
    constexpr std::size_t kNumbers = kLengths + 2;
    const auto now = decode_number(bytes);
    if (!now || bytes.size() < kNumbers) {
        return std::nullopt;
    }
    const auto count = static_cast<unsigned char>(bytes[kLengths]);
    const auto changes = static_cast<unsigned char>(bytes[kLengths + 1]);
    const std::string_view numbers = bytes.substr(kNumbers);
    if (numbers.size() != std::size_t{count} + changes) {
        return std::nullopt;
    }
    return Stamp{*now, numbers.substr(0, count), numbers.substr(count)};
}

}  // namespace

LimitCommands::LimitCommands(const Schema& schema, Catalogue catalogue,
                             Accounts accounts)
    : schema_(schema), brings_version_(catalogue == Catalogue::here),
      accounts_(accounts), count_(schema.pet_count()),
      changes_(schema.changes())
{}

redis::Command
LimitCommands::decide(const std::vector<LimitRequest>& requests) const
{
    const bool in_cluster = accounts_ == Accounts::cluster;
    const std::string packed = pack_requests(requests, in_cluster);
    return in_cluster && requests.size() > 1
               ? decide_across_slots(requests, packed)
               : decide_together(requests, packed);
}

redis::Command
LimitCommands::decide_together(const std::vector<LimitRequest>& requests,
                               std::string_view packed) const
{
    const auto accounts = static_cast<std::int64_t>(requests.size());
    const bool with_version = asks_version(requests);
    redis::Command command(scripts().limit,
                           with_version ? accounts + 2 : accounts);
    for (const LimitRequest& request : requests) {
        command.key(schema_.account_state(request.account));
    }
    if (with_version) {
        command.arg(count_).arg(changes_);
    }
    return std::move(command.own(packed));
}

redis::Command
LimitCommands::decide_across_slots(const std::vector<LimitRequest>& requests,
                                   std::string_view packed) const
{
    redis::Command command(scripts().limit_across_slots, 1);
    command.set_across_slots();
    command.key(schema_.account_state(requests.front().account)).own(packed);
    for (std::size_t i = 1; i < requests.size(); ++i) {
        command.own(schema_.account_state(requests[i].account));
    }
    return command;
}

bool LimitCommands::asks_version(
    const std::vector<LimitRequest>& requests) const noexcept
{
    return brings_version_
           && std::any_of(requests.begin(), requests.end(),
                          [](const LimitRequest& request) {
                              return request.needs_version;
                          });
}

std::vector<LimitResult>
LimitCommands::parse_decisions(const redis::Reply& reply,
                               const std::vector<LimitRequest>& requests) const
{
    constexpr std::size_t kWindows = AccountState::kWindowsSize;
    const std::size_t accounts = requests.size();
    std::vector<LimitResult> results(accounts);
    std::string_view windows;
    std::optional<Stamp> stamp;
    if (reply.is(redis::Type::string)
        && reply.text().size() > accounts * kWindows) {
        windows = reply.text().substr(0, accounts * kWindows);
        stamp = parse_stamp(reply.text().substr(windows.size()));
    } else if (reply.size() == accounts + 1
               && reply[accounts].is(redis::Type::string)) {
        stamp = parse_stamp(reply[accounts].text());
    }
    if (!stamp) {
        return results;
    }
    std::optional<Version> version;
    if (asks_version(requests)) {
        version = Version::parse(stamp->count, stamp->changes);
    }
    for (std::size_t i = 0; i < accounts; ++i) {
        results[i] = windows.empty()
                         ? parse_answer(reply[i], stamp->now, requests[i])
                         : parse_windows(windows.substr(i * kWindows, kWindows),
                                         stamp->now, requests[i]);
        results[i].now = stamp->now;
        results[i].version = version;
    }
    return results;
}

api::Decision LimitResult::decision(std::int64_t index) const noexcept
{
    api::Decision decision;
    decision.minute = minute;
    decision.day = day;
    decision.month = month;
    decision.cost = cost;
    decision.now = now;
    if (index < admitted) {
        decision.verdict = api::Verdict::admitted;
        const std::int64_t later = (admitted - index - 1) * cost;
        decision.minute.used -= later;
        decision.day.used -= later;
        decision.month.used -= later;
    } else if (ban_until != 0) {
        decision.verdict = api::Verdict::banned;
        decision.ban_until = ban_until;
    } else {
        decision.verdict = api::Verdict::limited;
    }
    return decision;
}

void LimitCommands::report_damage(std::string_view account,
                                  DamageLog& log) const noexcept
{
    try {
        log.damaged(schema_.account_state(account));
    } catch (...) {
        // Out of memory.
    }
}

redis::Command LimitCommands::report_denials(std::string_view account,
                                             std::int64_t epoch,
                                             const DenialCounts& denials,
                                             const api::BanPolicy& policy) const
{
    redis::Command command(scripts().strike, 3);
    command.key(schema_.account_state(account))
        .key(schema_.strikes(account))
        .key(schema_.bans(account))
        .arg(epoch)
        .arg(denials.strikes)
        .arg(policy.threshold_for(denials.minute))
        .arg(policy.window)
        .arg(policy.duration)
        .arg(policy.max)
        .arg(denials.all);
    return command;
}

AccountStatus LimitCommands::parse_status(const redis::Reply& reply,
                                          const api::Limits& limits,
                                          std::int64_t cost)
{
    AccountStatus status;
    if (reply.size() != kStatusSize || !reply[kStrikes].is(redis::Type::integer)
        || !is_count(reply[kNewBan]) || !is_count(reply[kStatusNow])
        || !reply[kState].is(redis::Type::string)) {
        return status;
    }
    if (reply[kStrikes].integer() == kStale) {
        status.kind = LimitResult::Kind::stale;
        return status;
    }
    const auto state = AccountState::decode(reply[kState].text());
    if (!state || !is_count(reply[kStrikes])) {
        return status;
    }
    status.kind = LimitResult::Kind::decided;
    api::Decision& decision = status.decision;
    set_windows(decision, *state, limits);
    decision.cost = cost;
    decision.now = reply[kStatusNow].integer();
    if (decision.ban_until != 0) {
        decision.verdict = api::Verdict::banned;
    } else if (decision.minute.has(cost) && decision.day.has(cost)
               && decision.month.has(cost)) {
        decision.verdict = api::Verdict::admitted;
    } else {
        decision.verdict = api::Verdict::limited;
    }
    status.strikes = reply[kStrikes].integer();
    status.new_ban = reply[kNewBan].integer() != 0;
    return status;
}

}  // namespace petstore::store
