#include "account_commands.h"

#include "../../api/usage.h"
#include "../scripts.h"

namespace petstore::store {

namespace {

// As long as the usage of its last month.
constexpr std::int64_t kKeepDeleted =
    api::kUsageKeptOfDay * api::kDaySeconds * 1000;

// Ignores fields added by later versions.
bool set_account_field(api::AccountRecord& record, std::string_view field,
                       std::string_view value)
{
    if (const auto valid = fields::set_own_plan(record, field, value)) {
        return *valid;
    }
    if (field == "id") {
        return fields::set_text(record.id, value, api::is_id(value));
    }
    if (field == "external_id") {
        return fields::set_text(record.external_id, value,
                                api::is_external_id(value));
    }
    if (field == "label") {
        return fields::set_text(record.label, value, true);
    }
    if (field == "disabled") {
        return fields::set_flag(record.disabled, value);
    }
    if (field == "implicit") {
        record.implicit = value == "1";
        return record.implicit;
    }
    if (field == "created") {
        return fields::set_time(record.created, value);
    }
    if (field == "deleted") {
        return fields::set_time(record.deleted, value) && record.deleted > 0;
    }
    if (field == "epoch") {
        return fields::set_epoch(record.epoch, value);
    }
    return true;
}

}  // namespace

std::string AccountCommands::name(std::string_view account) const
{
    return schema_.account_record(account);
}

redis::Command AccountCommands::read(std::string_view account) const
{
    redis::Command command("HGETALL");
    command.key(name(account));
    return command;
}

AccountCommands::Found AccountCommands::parse(const redis::Reply& reply,
                                              std::string_view account)
{
    Found found{RecordFound::invalid, {}};
    bool has_creation = false;
    found.result = fields::read(reply, [&](auto field, auto value) {
        has_creation |= field == "created";
        return set_account_field(found.record, field, value);
    });
    if (found.result == RecordFound::found
        && (!has_creation || found.record.id != account)) {
        found.result = RecordFound::invalid;
    }
    return found;
}

redis::Command AccountCommands::write(const api::AccountRecord& record,
                                      std::optional<std::int64_t> seen) const
{
    const bool deleted = record.deleted != 0;
    redis::Command command(scripts().write_record, 1);
    command.key(name(record.id))
        .own(seen ? std::to_string(*seen) : "")
        .own(deleted ? std::to_string(kKeepDeleted) : "");
    fields::add(command, "id", record.id);
    fields::add(command, "external_id", record.external_id);
    fields::add(command, record);
    fields::add(command, "label", record.label);
    fields::add(command, "disabled", record.disabled ? "1" : "0");
    fields::add(command, "created", std::to_string(record.created));
    fields::add(command, "implicit", record.implicit ? "1" : "");
    fields::add(command, "deleted",
                deleted ? std::to_string(record.deleted) : "");
    return command;
}

}  // namespace petstore::store
