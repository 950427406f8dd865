#include "plan_commands.h"

#include "../../api/text.h"

namespace petstore::store {

namespace {

// HSCAN returns a hash of up to this many fields in one reply.
constexpr std::int64_t kAllFields = 1024;
static_assert(PlanCommands::kMaxRead < kAllFields);

bool is_limit(const std::optional<std::int64_t>& number,
              std::int64_t least) noexcept
{
    return number && *number >= least && *number <= api::kMaxLimit;
}

std::optional<std::int64_t> take_number(std::string_view& text) noexcept
{
    return api::parse_int64(api::take_word(text));
}

}  // namespace

std::optional<api::Limits> parse_limits(std::string_view text) noexcept
{
    const auto minute = take_number(text);
    const bool has_day = !text.empty();
    const auto day = take_number(text);
    const auto month = text.empty() ? 0 : take_number(text);
    if (!has_day || !is_limit(minute, 1) || !is_limit(day, 1)
        || !is_limit(month, 0)) {
        return std::nullopt;
    }
    return api::Limits{*minute, *day, *month};
}

std::string limits_text(const api::Limits& limits)
{
    std::string text;
    api::append_int(text, limits.minute);
    text.push_back(' ');
    api::append_int(text, limits.day);
    if (limits.has_month()) {
        text.push_back(' ');
        api::append_int(text, limits.month);
    }
    return text;
}

// Not HGETALL: more fields than a reply may have would end the connection.
redis::Command PlanCommands::read() const
{
    redis::Command command("HSCAN");
    command.key(schema_.plans()).arg("0").arg("COUNT").arg(kAllFields);
    return command;
}

StoredPlans PlanCommands::parse(const redis::Reply& reply)
{
    StoredPlans stored;
    // Another cursor: there are more fields.
    if (reply.size() != 2 || reply[0].text() != "0" || reply[1].size() % 2 != 0
        || reply[1].size() / 2 > kMaxRead) {
        stored.all_damaged = true;
        return stored;
    }
    const redis::Reply& fields = reply[1];
    for (std::size_t i = 0; i < fields.size(); i += 2) {
        const std::string_view name = fields[i].text();
        const auto limits = parse_limits(fields[i + 1].text());
        if (limits && api::is_plan_name(name)) {
            stored.plans.emplace(name, *limits);
        } else {
            stored.damaged.emplace_back(name);
        }
    }
    return stored;
}

}  // namespace petstore::store
