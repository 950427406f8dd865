#include "stored_key.h"

#include "../scripts.h"

namespace petstore::store {

namespace {

constexpr std::int64_t kKeepUnfinished = std::int64_t{24} * 60 * 60 * 1000;

void add(redis::Command& command, const char* field, std::string_view value)
{
    command.arg(field).own(value);
}

void add(redis::Command& command, const char* field,
         const std::optional<std::int64_t>& value)
{
    command.arg(field);
    value ? command.arg(*value) : command.arg("");
}

}  // namespace

redis::Command StoredKeyCommands::read(const api::Digest& digest) const
{
    return KeyCommands(schema_).get(digest);
}

KeyCommands::Found::Result StoredKeyCommands::parse(const redis::Reply& reply,
                                                    StoredKey& key)
{
    auto found = KeyCommands::parse(reply);
    key.record = std::move(found.record);
    key.unfinished = false;
    key.successors.clear();
    for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
        if (reply[i].text() == "unfinished") {
            key.unfinished = true;
        } else if (reply[i].text() == "successors") {
            key.successors = reply[i + 1].text();
        }
    }
    return found.result;
}

redis::Command StoredKeyCommands::write(const StoredKey& key,
                                        std::optional<std::int64_t> seen) const
{
    const api::KeyRecord& record = key.record;
    redis::Command command(scripts::write_key(), 1);
    command.key(schema_.key_record(key.digest))
        .own(seen ? std::to_string(*seen) : "")
        .own(key.unfinished ? std::to_string(kKeepUnfinished) : "");
    add(command, "id", record.id);
    add(command, "account", record.account);
    add(command, "plan", record.plan);
    add(command, "per_minute", record.per_minute);
    add(command, "per_day", record.per_day);
    add(command, "per_month", record.per_month);
    add(command, "label", record.label);
    add(command, "scopes", api::scopes_text(record));
    add(command, "created", std::to_string(record.created));
    add(command, "expires", record.expires);
    add(command, "disabled", record.disabled ? "1" : "0");
    add(command, "last4", record.last4);
    add(command, "replaced_by", record.replaced_by);
    add(command, "unfinished", key.unfinished ? "1" : "");
    add(command, "successors", key.successors);
    return command;
}

redis::Command StoredKeyCommands::remove(const StoredKey& key) const
{
    return redis::Command(scripts::delete_key(), 1)
        .key(schema_.key_record(key.digest))
        .arg(key.record.epoch);
}

}  // namespace petstore::store
