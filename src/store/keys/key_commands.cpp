#include "key_commands.h"

#include <algorithm>

namespace petstore::store {

namespace {

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
        return parse_successors(value).has_value();
    }
    return true;
}

}  // namespace

std::optional<std::vector<Successor>> parse_successors(std::string_view text)
{
    std::vector<Successor> parsed;
    for (bool last = false; !last;) {
        const std::size_t end = text.find(' ');
        last = end == std::string_view::npos;
        const std::string_view one = text.substr(0, end);
        text.remove_prefix(last ? text.size() : end + 1);
        const std::string_view id = one.substr(0, one.find(':'));
        const auto digest =
            api::digest_of_hex(one.substr(std::min(id.size() + 1, one.size())));
        if (!api::is_id(id) || !digest) {
            return std::nullopt;
        }
        parsed.push_back({std::string(id), *digest});
    }
    return parsed;
}

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
