#include "key_administration.h"

#include <algorithm>
#include <map>
#include <utility>

#include "../../api/text.h"

namespace petstore::store {

namespace {

using Found = KeyCommands::Found::Result;

constexpr std::int64_t kScanCount = 500;

}  // namespace

std::optional<api::Digest> KeyAdministration::indexed(std::string_view id)
{
    redis::Command command("HGET");
    command.key(schema_.key_index()).arg(id);
    const redis::Reply& reply = redis_.call(command);
    if (reply.is(redis::Type::nil)) {
        return std::nullopt;
    }
    const auto digest = api::digest_of_hex(reply.text());
    if (!digest) {
        throw AdministrationError("the entry of key " + std::string(id) + " in "
                                  + schema_.key_index() + " is damaged");
    }
    return digest;
}

Found KeyAdministration::read(StoredKey& key)
{
    return StoredKeyCommands::parse(redis_.call(commands_.read(key.digest)),
                                    key);
}

std::optional<StoredKey> KeyAdministration::look(std::string_view id)
{
    const auto digest = indexed(id);
    if (!digest) {
        return std::nullopt;
    }
    StoredKey key(*digest);
    const auto found = read(key);
    if (found == Found::invalid) {
        throw AdministrationError("the record of key " + std::string(id)
                                  + " is damaged");
    }
    // An interrupted import can leave an index entry that points to another id.
    return found == Found::found && key.record.id == id
               ? std::optional(std::move(key))
               : std::nullopt;
}

std::optional<StoredKey> KeyAdministration::look(const api::Digest& digest)
{
    StoredKey key(digest);
    const auto found = read(key);
    if (found == Found::invalid) {
        throw AdministrationError("the record of this key is damaged");
    }
    return found == Found::found ? std::optional(std::move(key)) : std::nullopt;
}

StoredKey KeyAdministration::find(std::string_view id)
{
    auto key = look(id);
    if (!key) {
        // The argument may be an API key, so the message does not repeat it.
        throw AdministrationError(
            "there is no key with this id: see petstorectl key list",
            AdministrationError::Kind::not_found);
    }
    return std::move(*key);
}

KeyAdministration::Listing KeyAdministration::list()
{
    // A scan may return an entry twice.
    std::map<std::string, api::Digest> digests;
    Listing listing;
    std::string cursor = "0";
    do {
        redis::Command scan("HSCAN");
        scan.key(schema_.key_index()).arg(cursor).arg("COUNT").arg(kScanCount);
        const redis::Reply& reply = redis_.call(scan);
        if (reply.size() != 2) {
            throw AdministrationError("unexpected reply of Redis to HSCAN");
        }
        for (std::size_t i = 0; i + 1 < reply[1].size(); i += 2) {
            const auto digest = api::digest_of_hex(reply[1][i + 1].text());
            if (digest) {
                digests.emplace(reply[1][i].text(), *digest);
            } else {
                listing.damaged_entries.emplace(reply[1][i].text());
            }
        }
        cursor = reply[0].text();
    } while (cursor != "0");

    for (auto entry = digests.begin(); entry != digests.end();) {
        if (redis_.serves(schema_.key_record(entry->second))) {
            ++entry;
        } else {
            listing.unread.push_back(entry->first);
            entry = digests.erase(entry);
        }
    }
    for (const auto& [id, digest] : digests) {
        redis_.send(commands_.read(digest));
    }
    listing.keys.reserve(digests.size());
    for (const auto& [id, digest] : digests) {
        StoredKey key(digest);
        const auto found = StoredKeyCommands::parse(redis_.receive(), key);
        if (found == Found::invalid) {
            listing.damaged.push_back(id);
        } else if (found == Found::absent || key.record.id != id) {
            listing.missing.push_back(id);
        } else {
            listing.keys.push_back(std::move(key));
        }
    }
    std::stable_sort(listing.keys.begin(), listing.keys.end(),
                     [](const StoredKey& a, const StoredKey& b) {
                         return a.record.created < b.record.created;
                     });
    return listing;
}

bool KeyAdministration::write(StoredKey& key)
{
    return write(key, key.record.epoch);
}

bool KeyAdministration::write(StoredKey& key, std::optional<std::int64_t> seen)
{
    try {
        const std::int64_t epoch =
            redis_.run(commands_.write(key, seen)).integer();
        if (epoch <= 0) {
            return false;
        }
        key.record.epoch = epoch;
        return true;
    } catch (const LostConnection& lost) {
        throw NotInEffect(lost.what());
    }
}

void KeyAdministration::announce(std::string_view account, std::int64_t written)
{
    try {
        accounts_.touch(account, written);
    } catch (const AdministrationError& failure) {
        throw NotInEffect(failure.what());
    }
}

void KeyAdministration::begin(StoredKey& key)
{
    key.record.disabled = true;
    key.unfinished = true;

    StoredKey there(key.digest);
    std::optional<std::int64_t> seen;
    switch (read(there)) {
    case Found::absent:
        break;
    case Found::invalid:
        throw AdministrationError(
            "this key exists already, and its record is damaged");
    case Found::found:
        if (!there.unfinished) {
            throw AdministrationError("this key exists already, its id is "
                                      + there.record.id);
        }
        key.record.id = there.record.id;
        key.record.account = there.record.account;
        seen = there.record.epoch;
    }

    // Touch the account first: an existing state will take the epoch of the
    // record.
    accounts_.touch(key.record.account, 0);
    // Write the record before the index: if interrupted, the record expires
    // after a day.
    if (!write(key, seen)) {
        throw AdministrationError("another command is adding this key");
    }
    redis_.call(redis::Command("HSET")
                    .key(schema_.key_index())
                    .arg(key.record.id)
                    .own(api::to_hex(api::bytes_of(key.digest))));
}

bool KeyAdministration::enable(StoredKey& key)
{
    key.record.disabled = false;
    key.unfinished = false;
    return write(key);
}

bool KeyAdministration::restore(StoredKey key)
{
    const api::KeyRecord record = key.record;
    const auto other = indexed(record.id);
    if (other && *other != key.digest) {
        throw AdministrationError("another key has the id " + record.id);
    }
    if (const auto there = look(key.digest)) {
        if (there->record.id != record.id) {
            throw AdministrationError("this key exists already, its id is "
                                      + there->record.id);
        }
        if (!there->unfinished) {
            return false;
        }
    }
    begin(key);
    key.record.disabled = record.disabled;
    key.unfinished = false;
    if (key.record.id != record.id || key.record.account != record.account
        || !write(key)) {
        throw AdministrationError("another command is adding this key");
    }
    announce(key.record.account, key.record.epoch);
    return true;
}

api::KeyRecord KeyAdministration::update(std::string_view id,
                                         const Change& change)
{
    for (;;) {
        StoredKey key = find(id);
        change(key.record);
        key.unfinished = false;  // the operator manages it from now on
        if (write(key)) {
            announce(key.record.account, key.record.epoch);
            return std::move(key.record);
        }
    }
}

void KeyAdministration::remove(std::string_view id)
{
    const auto digest = indexed(id);
    if (!digest) {
        find(id);  // throws
        return;
    }
    try {
        discard(id, *digest);
    } catch (const LostConnection& lost) {
        throw NotInEffect(lost.what());
    }
}

void KeyAdministration::discard(std::string_view id, const api::Digest& digest)
{
    remove_record(id, digest);
    redis_.call(redis::Command("HDEL").key(schema_.key_index()).arg(id));
}

// Disables the key everywhere before deleting its record: only the record names
// the account to touch, and workers may have the key cached.
void KeyAdministration::remove_record(std::string_view id,
                                      const api::Digest& digest)
{
    for (;;) {
        StoredKey key(digest);
        const auto found = read(key);
        if (found == Found::absent) {
            return;
        }
        if (found == Found::invalid) {
            if (!key.record.account.empty()) {
                announce(key.record.account, key.record.epoch);
            }
            redis_.call(redis::Command("DEL").key(schema_.key_record(digest)));
            return;
        }
        if (key.record.id != id) {
            return;  // another key's record
        }
        key.record.disabled = true;
        if (!write(key)) {
            continue;
        }
        announce(key.record.account, key.record.epoch);
        if (redis_.run(commands_.remove(key)).integer() == 1) {
            return;
        }
    }
}

bool KeyAdministration::unban(std::string_view account)
{
    try {
        const bool was_banned = accounts_.unban(account);
        announce(account, 0);
        return was_banned;
    } catch (const LostConnection& lost) {
        throw NotInEffect(lost.what());
    }
}

}  // namespace petstore::store
