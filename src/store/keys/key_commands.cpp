#include "key_commands.h"

namespace petstore::store {

namespace {

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

// Ignores fields added by later versions.
bool set_key_field(api::KeyRecord& record, std::string_view field,
                   std::string_view value)
{
    if (const auto valid = fields::set_own_plan(record, field, value)) {
        return *valid;
    }
    if (field == "id") {
        return fields::set_text(record.id, value, api::is_id(value));
    }
    if (field == "account") {
        return fields::set_text(record.account, value, api::is_id(value));
    }
    if (field == "label") {
        return fields::set_text(record.label, value, true);
    }
    if (field == "scopes") {
        return api::set_scopes(record, value);
    }
    if (field == "created") {
        return fields::set_time(record.created, value);
    }
    if (field == "expires") {
        return fields::set_time(record.expires, value);
    }
    if (field == "disabled") {
        return fields::set_flag(record.disabled, value);
    }
    if (field == "last4") {
        return fields::set_text(record.last4, value, api::is_last4(value));
    }
    if (field == "replaced_by") {
        return fields::set_text(record.replaced_by, value,
                                value.empty() || api::is_id(value));
    }
    if (field == "epoch") {
        return fields::set_epoch(record.epoch, value);
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
    Found found{RecordFound::invalid, {}};
    found.result = fields::read(reply, [&](auto field, auto value) {
        return set_key_field(found.record, field, value);
    });
    if (found.result == RecordFound::found
        && (found.record.id.empty() || found.record.account.empty())) {
        found.result = RecordFound::invalid;
    }
    return found;
}

}  // namespace petstore::store
