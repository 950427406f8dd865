#include "record_fields.h"

#include "../api/plan.h"
#include "../api/text.h"
#include "accounts/account_state.h"

namespace petstore::store::fields {

namespace {

bool set_limit(std::optional<std::int64_t>& to, std::string_view value)
{
    to = api::parse_int64(value);
    return to && *to >= 1 && *to <= api::kMaxLimit;
}

}  // namespace

bool set_text(std::string& to, std::string_view value, bool valid)
{
    if (valid) {
        to = value;
    }
    return valid;
}

bool set_time(std::optional<api::UnixTime>& to, std::string_view value)
{
    to = api::parse_int64(value);
    return to && api::has_four_digit_year(*to);
}

bool set_time(api::UnixTime& to, std::string_view value)
{
    std::optional<api::UnixTime> time;
    const bool valid = set_time(time, value);
    to = time.value_or(0);
    return valid;
}

bool set_flag(bool& to, std::string_view value)
{
    to = value == "1";
    return to || value == "0";
}

bool set_epoch(std::int64_t& to, std::string_view value)
{
    const auto epoch = api::parse_int64(value);
    const bool valid = epoch && *epoch >= 0 && *epoch <= AccountState::kLargest;
    to = valid ? *epoch : 0;
    return valid;
}

std::optional<bool> set_own_plan(api::OwnPlan& own, std::string_view field,
                                 std::string_view value)
{
    if (field == "plan") {
        return value.empty()
               || set_text(own.plan, value, api::is_plan_name(value));
    }
    if (field == "per_minute") {
        return set_limit(own.per_minute, value);
    }
    if (field == "per_day") {
        return set_limit(own.per_day, value);
    }
    if (field == "per_month") {
        return set_limit(own.per_month, value);
    }
    return std::nullopt;
}

void add(redis::Command& command, const char* field, std::string_view value)
{
    command.arg(field).own(value);
}

void add(redis::Command& command, const char* field,
         const std::optional<std::int64_t>& value)
{
    command.arg(field);
    if (value) {
        command.arg(*value);
    } else {
        command.arg("");
    }
}

void add(redis::Command& command, const api::OwnPlan& own)
{
    add(command, "plan", own.plan);
    add(command, "per_minute", own.per_minute);
    add(command, "per_day", own.per_day);
    add(command, "per_month", own.per_month);
}

}  // namespace petstore::store::fields
