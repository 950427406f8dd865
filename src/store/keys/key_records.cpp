#include "key_records.h"

#include "../../api/plan.h"
#include "../../api/text.h"

namespace petstore::store {

namespace {

bool parse_number(std::string_view text, std::optional<std::int64_t>& number)
{
    number = api::parse_int64(text);
    return number && *number >= 1 && *number <= api::kMaxLimit;
}

// False if the value is invalid for the field. Ignores fields added by later
// versions.
bool set_field(api::KeyRecord& record, std::string_view field,
               std::string_view value)
{
    if (field == "id") {
        record.id = value;
    } else if (field == "account") {
        record.account = value;
    } else if (field == "plan") {
        if (!value.empty()) {
            record.plan = value;
        }
    } else if (field == "per_minute") {
        return parse_number(value, record.per_minute);
    } else if (field == "per_day") {
        return parse_number(value, record.per_day);
    } else if (field == "label") {
        record.label = value;
    } else if (field == "scopes") {
        const auto scopes = api::parse_scopes(value);
        record.scopes = scopes.value_or(0);
        return scopes.has_value();
    } else if (field == "created") {
        const auto created = api::parse_int64(value);
        record.created = created.value_or(0);
        return created.has_value();
    } else if (field == "expires") {
        record.expires = api::parse_int64(value);
        return record.expires.has_value();
    } else if (field == "disabled") {
        record.disabled = value == "1";
        return value == "1" || value == "0";
    } else if (field == "last4") {
        record.last4 = value;
    } else if (field == "replaced_by") {
        record.replaced_by = value;
    } else if (field == "epoch") {
        const auto epoch = api::parse_int64(value);
        record.epoch = epoch.value_or(0);
        return epoch && *epoch >= 0;
    }
    return true;
}

}  // namespace

std::string KeyRecords::name(const api::Digest& digest) const
{
    return schema_.key_record(digest);
}

redis::Command KeyRecords::get(const api::Digest& digest) const
{
    redis::Command command("HGETALL");
    command.key(schema_.key_record(digest));
    return command;
}

KeyRecords::Found KeyRecords::parse(const redis::Reply& reply)
{
    Found found{Found::Result::invalid, {}};
    if (!reply.is(redis::Type::array) || reply.size() % 2 != 0) {
        return found;
    }
    if (reply.size() == 0) {
        found.result = Found::Result::absent;
        return found;
    }
    for (std::size_t i = 0; i < reply.size(); i += 2) {
        if (!reply[i].is(redis::Type::string)
            || !reply[i + 1].is(redis::Type::string)
            || !set_field(found.record, reply[i].text(), reply[i + 1].text())) {
            return found;
        }
    }
    if (!found.record.id.empty() && !found.record.account.empty()) {
        found.result = Found::Result::found;
    }
    return found;
}

}  // namespace petstore::store
