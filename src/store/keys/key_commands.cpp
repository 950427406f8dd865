#include "key_commands.h"

#include "../../api/date.h"
#include "../../api/plan.h"
#include "../../api/text.h"
#include "../accounts/account_state.h"

namespace petstore::store {

namespace {

bool set_text(std::string& to, std::string_view value, bool valid)
{
    if (valid) {
        to = value;
    }
    return valid;
}

// A limit in plain decimal.
bool set_limit(std::optional<std::int64_t>& to, std::string_view value)
{
    to = api::parse_int64(value);
    return to && *to >= 1 && *to <= api::kMaxLimit;
}

bool set_time(std::optional<api::UnixTime>& to, std::string_view value)
{
    to = api::parse_int64(value);
    return to && api::has_four_digit_year(*to);
}

bool set_epoch(std::int64_t& to, std::string_view value)
{
    const auto epoch = api::parse_int64(value);
    const bool valid = epoch && *epoch >= 0 && *epoch <= AccountState::kLargest;
    to = valid ? *epoch : 0;
    return valid;
}

// "<id>:<digest in hex>", separated by spaces.
bool is_successors(std::string_view text) noexcept
{
    for (;;) {
        const std::size_t end = text.find(' ');
        const std::string_view one = text.substr(0, end);
        const std::size_t colon = one.find(':');
        if (colon == std::string_view::npos || !api::is_id(one.substr(0, colon))
            || !api::digest_of_hex(one.substr(colon + 1))) {
            return false;
        }
        if (end == std::string_view::npos) {
            return true;
        }
        text.remove_prefix(end + 1);
    }
}

// Sets the field, unless its text is one that no version of petstorectl wrote;
// false then. Ignores fields added by later versions.
bool set_field(api::KeyRecord& record, std::string_view field,
               std::string_view value)
{
    if (field == "id") {
        return set_text(record.id, value, api::is_id(value));
    }
    if (field == "account") {
        return set_text(record.account, value, api::is_id(value));
    }
    if (field == "plan") {
        return value.empty()
               || set_text(record.plan, value, api::is_plan_name(value));
    }
    if (field == "per_minute") {
        return set_limit(record.per_minute, value);
    }
    if (field == "per_day") {
        return set_limit(record.per_day, value);
    }
    if (field == "per_month") {
        return set_limit(record.per_month, value);
    }
    if (field == "label") {
        return set_text(record.label, value, true);
    }
    if (field == "scopes") {
        return api::set_scopes(record, value);
    }
    if (field == "created") {
        std::optional<api::UnixTime> created;
        const bool valid = set_time(created, value);
        record.created = created.value_or(0);
        return valid;
    }
    if (field == "expires") {
        return set_time(record.expires, value);
    }
    if (field == "disabled") {
        record.disabled = value == "1";
        return value == "1" || value == "0";
    }
    if (field == "last4") {
        return set_text(record.last4, value, api::is_last4(value));
    }
    if (field == "replaced_by") {
        return set_text(record.replaced_by, value,
                        value.empty() || api::is_id(value));
    }
    if (field == "epoch") {
        return set_epoch(record.epoch, value);
    }
    if (field == "unfinished") {
        return value == "1";
    }
    if (field == "successors") {
        return is_successors(value);
    }
    return true;
}

}  // namespace

std::string KeyCommands::name(const api::Digest& digest) const
{
    return schema_.key_record(digest);
}

redis::Command KeyCommands::get(const api::Digest& digest) const
{
    redis::Command command("HGETALL");
    command.key(schema_.key_record(digest));
    return command;
}

KeyCommands::Found KeyCommands::parse(const redis::Reply& reply)
{
    Found found{Found::Result::invalid, {}};
    if (!reply.is(redis::Type::array) || reply.size() % 2 != 0) {
        return found;
    }
    if (reply.size() == 0) {
        found.result = Found::Result::absent;
        return found;
    }
    bool valid = true;
    for (std::size_t i = 0; i < reply.size(); i += 2) {
        valid &=
            reply[i].is(redis::Type::string)
            && reply[i + 1].is(redis::Type::string)
            && set_field(found.record, reply[i].text(), reply[i + 1].text());
    }
    if (valid && !found.record.id.empty() && !found.record.account.empty()) {
        found.result = Found::Result::found;
    }
    return found;
}

}  // namespace petstore::store
