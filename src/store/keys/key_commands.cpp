#include "key_commands.h"

#include <algorithm>

#include "../../api/bearer.h"
#include "../random.h"
#include "../scripts.h"

namespace petstore::store {

namespace {

constexpr std::int64_t kKeepUnfinished = std::int64_t{24} * 60 * 60 * 1000;

constexpr std::size_t kLast4 = 4;
// Four characters would reveal too much of a shorter key.
constexpr std::size_t kShortestToShow = 12;

// Ignores fields added by later versions.
bool set_key_field(StoredKey& key, std::string_view field,
                   std::string_view value)
{
    api::KeyRecord& record = key.record;
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
        key.unfinished = true;
        return value == "1";
    }
    if (field == "successors") {
        key.successors = value;
        return parse_successors(value).has_value();
    }
    return true;
}

}  // namespace

std::string give_secret(StoredKey& key, std::string_view prefix)
{
    std::string secret = api::make_key(prefix, random_digest());
    set_secret(key, secret);
    return secret;
}

void set_secret(StoredKey& key, std::string_view secret)
{
    key.digest = api::sha256(secret);
    key.record.last4 = secret.size() < kShortestToShow
                           ? std::string_view()
                           : secret.substr(secret.size() - kLast4);
}

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

redis::Command KeyCommands::read(const api::Digest& digest) const
{
    redis::Command command("HGETALL");
    command.key(name(digest));
    return command;
}

RecordFound KeyCommands::parse(const redis::Reply& reply, StoredKey& key)
{
    key = StoredKey(key.digest);
    const RecordFound found = fields::read(reply, [&](auto field, auto value) {
        return set_key_field(key, field, value);
    });
    if (found == RecordFound::found
        && (key.record.id.empty() || key.record.account.empty())) {
        return RecordFound::invalid;
    }
    return found;
}

redis::Command KeyCommands::write(const StoredKey& key,
                                  std::optional<std::int64_t> seen) const
{
    const api::KeyRecord& record = key.record;
    redis::Command command(scripts().write_record, 1);
    command.key(name(key.digest))
        .own(seen ? std::to_string(*seen) : "")
        .own(key.unfinished ? std::to_string(kKeepUnfinished) : "");
    fields::add(command, "id", record.id);
    fields::add(command, "account", record.account);
    fields::add(command, record);
    fields::add(command, "label", record.label);
    fields::add(command, "scopes", api::scopes_text(record));
    fields::add(command, "created", std::to_string(record.created));
    fields::add(command, "expires", record.expires);
    fields::add(command, "disabled",
                record.disabled || key.unfinished ? "1" : "0");
    fields::add(command, "last4", record.last4);
    fields::add(command, "replaced_by", record.replaced_by);
    fields::add(command, "unfinished", key.unfinished ? "1" : "");
    fields::add(command, "successors", key.successors);
    return command;
}

redis::Command KeyCommands::remove(const StoredKey& key) const
{
    return redis::Command(scripts().delete_record, 1)
        .key(name(key.digest))
        .arg(key.record.epoch);
}

}  // namespace petstore::store
