#include "stored_key.h"

#include "../../api/bearer.h"
#include "../random.h"
#include "../scripts.h"

namespace petstore::store {

namespace {

constexpr std::int64_t kKeepUnfinished = std::int64_t{24} * 60 * 60 * 1000;

constexpr std::size_t kLast4 = 4;
// Four characters would reveal too much of a shorter key.
constexpr std::size_t kShortestToShow = 12;

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

redis::Command StoredKeyCommands::read(const api::Digest& digest) const
{
    return KeyCommands(schema_).get(digest);
}

RecordFound StoredKeyCommands::parse(const redis::Reply& reply, StoredKey& key)
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
    redis::Command command(scripts().write_record, 1);
    command.key(schema_.key_record(key.digest))
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

redis::Command StoredKeyCommands::remove(const StoredKey& key) const
{
    return redis::Command(scripts().delete_record, 1)
        .key(schema_.key_record(key.digest))
        .arg(key.record.epoch);
}

}  // namespace petstore::store
