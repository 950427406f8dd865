#include "key_store.h"

#include <algorithm>
#include <map>

#include "../api/text.h"
#include "digest_hex.h"
#include "exit.h"

namespace petstore::ctl {

namespace {

using Found = store::Keys::Found::Result;

constexpr std::int64_t kScanCount = 500;

}  // namespace

api::UnixTime KeyStore::now()
{
    const resp::Reply& reply = redis_.call(resp::Command("TIME"));
    return reply.size() == 2 ? api::parse_int64(reply[0].text()).value_or(0)
                             : 0;
}

std::optional<api::Digest> KeyStore::indexed(std::string_view id)
{
    const std::string index = schema_.key_index();
    return digest_of_hex(
        redis_.call(resp::Command("HGET").arg(index).arg(id)).text());
}

Found KeyStore::read(StoredKey& key)
{
    return store::KeyAdmin::parse(redis_.call(commands_.read(key.digest)), key);
}

std::optional<StoredKey> KeyStore::look(std::string_view id)
{
    const auto digest = indexed(id);
    if (!digest) {
        return std::nullopt;
    }
    StoredKey key(*digest);
    const auto found = read(key);
    if (found == Found::invalid) {
        throw Failure("the record of key " + std::string(id) + " is damaged");
    }
    // An interrupted import can leave an entry that leads to another id.
    return found == Found::found && key.record.id == id
               ? std::optional(std::move(key))
               : std::nullopt;
}

StoredKey KeyStore::find(std::string_view id)
{
    auto key = look(id);
    if (!key) {
        // The argument may be an API key, so the message does not repeat it.
        throw Failure("there is no key with this id: see petstorectl key list");
    }
    return std::move(*key);
}

KeyStore::Listing KeyStore::list()
{
    const std::string index = schema_.key_index();
    // A scan may return an entry twice.
    std::map<std::string, api::Digest> digests;
    std::string cursor = "0";
    do {
        const resp::Reply& reply = redis_.call(
            resp::Command("HSCAN").arg(index).arg(cursor).arg("COUNT").arg(
                kScanCount));
        if (reply.size() != 2) {
            throw Failure("unexpected reply of Redis to HSCAN");
        }
        for (std::size_t i = 0; i + 1 < reply[1].size(); i += 2) {
            const auto digest = digest_of_hex(reply[1][i + 1].text());
            if (digest) {
                digests.emplace(reply[1][i].text(), *digest);
            }
        }
        cursor = reply[0].text();
    } while (cursor != "0");

    for (const auto& [id, digest] : digests) {
        redis_.send(commands_.read(digest));
    }
    Listing listing;
    listing.keys.reserve(digests.size());
    for (const auto& [id, digest] : digests) {
        StoredKey key(digest);
        const auto found = store::KeyAdmin::parse(redis_.receive(), key);
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

bool KeyStore::write(StoredKey& key)
{
    return write(key, key.record.epoch);
}

bool KeyStore::write(StoredKey& key, std::optional<std::int64_t> seen)
{
    try {
        const std::int64_t epoch =
            redis_
                .run_script(
                    [&](bool eval) { return commands_.write(key, seen, eval); })
                .integer();
        if (epoch <= 0) {
            return false;
        }
        key.record.epoch = epoch;
        return true;
    } catch (const LostConnection& lost) {
        throw NotInEffect(lost.what());
    }
}

void KeyStore::announce(std::string_view account, std::int64_t written)
{
    try {
        accounts_.touch(account, written);
    } catch (const Failure& failure) {
        throw NotInEffect(failure.what());
    }
}

void KeyStore::begin(StoredKey& key)
{
    key.record.disabled = true;
    key.unfinished = true;

    StoredKey there(key.digest);
    std::optional<std::int64_t> seen;
    switch (read(there)) {
    case Found::absent:
        break;
    case Found::invalid:
        throw Failure("this key exists already, and its record is damaged");
    case Found::found:
        if (!there.unfinished) {
            throw Failure("this key exists already, its id is "
                          + there.record.id);
        }
        key.record.id = there.record.id;
        key.record.account = there.record.account;
        seen = there.record.epoch;
    }

    // A state that exists will take the epoch of the record.
    accounts_.touch(key.record.account, 0);
    // The record first: an index entry without one is visible and can be
    // deleted, and an unfinished record is gone after a day.
    if (!write(key, seen)) {
        throw Failure("someone else is adding this key at this moment");
    }
    const std::string index = schema_.key_index();
    redis_.call(resp::Command("HSET")
                    .arg(index)
                    .arg(key.record.id)
                    .own(api::to_hex(api::bytes_of(key.digest))));
}

bool KeyStore::enable(StoredKey& key)
{
    key.record.disabled = false;
    key.unfinished = false;
    return write(key);
}

api::KeyRecord KeyStore::update(std::string_view id, const Change& change)
{
    for (;;) {
        StoredKey key = find(id);
        change(key.record);
        key.unfinished = false;  // the operator has decided on it
        if (write(key)) {
            announce(key.record.account, key.record.epoch);
            return std::move(key.record);
        }
    }
}

void KeyStore::remove(std::string_view id)
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

void KeyStore::discard(std::string_view id, const api::Digest& digest)
{
    remove_record(id, digest);
    const std::string index = schema_.key_index();
    redis_.call(resp::Command("HDEL").arg(index).arg(id));
}

// The key is disabled everywhere before its record goes: the record alone tells
// which account to touch, and a worker could go on with what it remembers.
void KeyStore::remove_record(std::string_view id, const api::Digest& digest)
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
            const std::string name = schema_.key_record(digest);
            redis_.call(resp::Command("DEL").arg(name));
            return;
        }
        if (key.record.id != id) {
            return;  // somebody else's
        }
        key.record.disabled = true;
        if (!write(key)) {
            continue;
        }
        announce(key.record.account, key.record.epoch);
        const auto gone = redis_.run_script(
            [&](bool eval) { return commands_.remove(key, eval); });
        if (gone.integer() == 1) {
            return;
        }
    }
}

bool KeyStore::unban(std::string_view account)
{
    try {
        const bool was_banned = accounts_.unban(account);
        announce(account, 0);
        return was_banned;
    } catch (const LostConnection& lost) {
        throw NotInEffect(lost.what());
    }
}

}  // namespace petstore::ctl
