#include "usage_commands.h"

#include <algorithm>
#include <map>
#include <optional>

#include "../../api/text.h"
#include "../../redis/reply_fields.h"
#include "../scripts.h"
#include "account_state.h"

namespace petstore::store {

namespace {

constexpr std::size_t kTimeParts = 2;   // of the reply
constexpr std::size_t kNotLedgers = 3;  // the first keys

// Anything else counts as 0.
std::int64_t count_in(const redis::Reply& reply) noexcept
{
    return std::max<std::int64_t>(api::parse_int64(reply.text()).value_or(0),
                                  0);
}

// As the limiter will have it with the next request: if the clock was set back,
// the window ends `length` from now.
api::AccountUsage::Counter open_counter(std::int64_t used, api::Millis end,
                                        api::Millis now,
                                        api::UnixTime length) noexcept
{
    return end > now
               ? api::AccountUsage::Counter{used,
                                            std::min(end, now + length * 1000)}
               : api::AccountUsage::Counter{};
}

using Days = std::map<api::Day, api::UsageCount>;

// Whether the limiter begins another month with the next request, as open_day
// in usage.lua has it.
bool is_month_over(const AccountState& state, api::Day today) noexcept
{
    return state.utc_day != today + 1
           && api::first_of_month(state.utc_day) != api::first_of_month(today);
}

void take_state(const AccountState& state, api::AccountUsage& usage, Days& days)
{
    usage.epoch = state.epoch;
    const api::Millis now = usage.now;
    usage.minute = open_counter(state.minute_used, state.minute_end, now,
                                api::kMinuteSeconds);
    usage.day =
        open_counter(state.day_used, state.day_end, now, api::kDaySeconds);
    usage.banned_until = state.ban_until > now ? state.ban_until : 0;
    if (!is_month_over(state, api::day_of(now / 1000))) {
        usage.month = {state.month_used, state.month_end()};
    }
    if (const auto today = state.used_on_utc_day(); today > 0) {
        days[state.utc_day].admitted = today;
        usage.last_used = state.utc_day;
    } else if (state.usual_day > 0) {
        usage.last_used = state.usual_day;
    }
}

// If the clock was in this month before, counting resumes from its ledger. As
// in the limiter, accounts that were never charged start at zero.
void begin_month(const AccountState& state, api::AccountUsage& usage) noexcept
{
    const api::Day today = api::day_of(usage.now / 1000);
    const std::int64_t used =
        std::min(api::admitted_in_month(usage, today), AccountState::kLargest);
    if (used > 0 && state.utc_day > 0 && is_month_over(state, today)) {
        usage.month = {used, api::first_of_next_month(today) * api::kDaySeconds
                                 * 1000};
    }
}

// The part of a ledger's field that is the day of the month: "07" in "07" and
// "07d"; 0 if it is neither.
int day_in(std::string_view field) noexcept
{
    constexpr std::size_t kDigits = 2;
    if (field.size() == kDigits + 1 && field.back() == 'd') {
        field.remove_suffix(1);
    }
    return field.size() == kDigits && api::is_digit(field[0])
                   && api::is_digit(field[1])
               ? (field[0] - '0') * 10 + field[1] - '0'
               : 0;
}

// Adds a month's counts: the running day may be in its ledger, too, if the
// counters were emptied. False for a value that no script wrote. Ignores fields
// added by later versions.
bool take_ledger(const redis::Reply& reply, api::Day first, api::Day next,
                 Days& days)
{
    for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
        const std::string_view field = reply[i].text();
        const int day = day_in(field);
        if (day == 0) {
            continue;
        }
        const auto count = api::parse_int64(reply[i + 1].text());
        if (first + day > next || !count || *count < 0
            || *count > AccountState::kLargest) {
            return false;
        }
        api::UsageCount& counts = days[first + day - 1];
        auto& sum = field.back() == 'd' ? counts.denied : counts.admitted;
        sum += *count;
        if (sum > AccountState::kLargest) {  // the most that a state may hold
            return false;
        }
    }
    return reply.is(redis::Type::array);
}

}  // namespace

std::vector<std::string> UsageCommands::keys(const std::string& account,
                                             api::Day from, api::Day to) const
{
    std::vector<std::string> keys = {schema_.account_state(account),
                                     schema_.strikes(account),
                                     schema_.bans(account)};
    for (api::Day day = from; day <= to; day = api::first_of_next_month(day)) {
        const auto [year, month] = api::month_of(day);
        keys.push_back(schema_.usage(account, year, month));
    }
    return keys;
}

redis::Command UsageCommands::read(const std::string& account, api::Day from,
                                   api::Day to) const
{
    const auto names = keys(account, from, to);
    redis::Command command(scripts().read_usage,
                           static_cast<std::int64_t>(names.size()));
    for (const std::string& name : names) {
        command.key(name);
    }
    return command;
}

std::string UsageCommands::parse(const redis::Reply& reply,
                                 const std::string& account, api::Day from,
                                 api::Day to, api::AccountUsage& usage) const
{
    const auto names = keys(account, from, to);
    const auto now = redis::parse_time(reply);
    if (!now || reply.size() != names.size() + kTimeParts) {
        const auto number = static_cast<std::size_t>(reply.integer());
        return number >= 1 && number <= names.size() ? names[number - 1]
                                                     : names[0];
    }
    Days days;
    usage.now = *now;
    std::optional<AccountState> state;
    if (const auto& bytes = reply[kTimeParts]; !bytes.is(redis::Type::nil)) {
        state = AccountState::decode(bytes.text());
        if (!state || state->usual_day > api::kLastDay) {
            return names[0];
        }
        take_state(*state, usage, days);
    }
    usage.strikes = count_in(reply[kTimeParts + 1]);
    usage.bans = count_in(reply[kTimeParts + 2]);

    api::Day first = api::first_of_month(from);
    for (std::size_t i = kNotLedgers; i < names.size(); ++i) {
        const api::Day next = api::first_of_next_month(first);
        if (!take_ledger(reply[kTimeParts + i], first, next, days)) {
            return names[i];
        }
        first = next;
    }
    for (const auto& [day, counts] : days) {
        usage.days.push_back({day, counts.admitted, counts.denied});
    }
    if (state) {
        begin_month(*state, usage);
    }
    return "";
}

}  // namespace petstore::store
