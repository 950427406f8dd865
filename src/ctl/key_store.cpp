#include "key_store.h"

#include <algorithm>
#include <map>
#include <optional>

#include "../api/text.h"
#include "../store/account_state.h"
#include "../store/script.h"
#include "digest_hex.h"
#include "exit.h"

namespace petstore::ctl {

namespace {

constexpr std::int64_t kScanCount = 500;

[[noreturn]] void damaged(std::string_view id)
{
    throw Failure("the record of key " + std::string(id) + " is damaged");
}

std::int64_t number_of(const resp::Reply& reply)
{
    if (reply.is(resp::Type::integer)) {
        return std::max<std::int64_t>(reply.integer(), 0);
    }
    return api::parse_int64(reply.text()).value_or(0);
}

}  // namespace

api::UnixTime KeyStore::now()
{
    const resp::Reply& reply = redis_.call(resp::Command("TIME"));
    return reply.size() == 2 ? number_of(reply[0]) : 0;
}

std::optional<api::Digest> KeyStore::indexed(std::string_view id)
{
    const std::string index = schema_.key_index();
    return digest_of_hex(
        redis_.call(resp::Command("HGET").arg(index).arg(id)).text());
}

api::Digest KeyStore::digest_of(std::string_view id)
{
    const auto digest = indexed(id);
    if (!digest) {
        throw Failure("there is no key with the id " + std::string(id));
    }
    return *digest;
}

StoredKey KeyStore::find(std::string_view id)
{
    const api::Digest digest = digest_of(id);
    auto found = store::Keys::parse(redis_.call(keys_.get(digest)));
    if (found.result != store::Keys::Found::Result::found) {
        damaged(id);
    }
    return {digest, std::move(found.record)};
}

std::vector<StoredKey> KeyStore::list()
{
    const std::string index = schema_.key_index();
    // A scan may tell an entry twice.
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
        redis_.send(keys_.get(digest));
    }
    std::vector<StoredKey> keys;
    keys.reserve(digests.size());
    for (const auto& [id, digest] : digests) {
        auto found = store::Keys::parse(redis_.receive());
        // Deleted since the scan, or left behind by an interrupted command.
        if (found.result == store::Keys::Found::Result::found) {
            keys.push_back({digest, std::move(found.record)});
        }
    }
    std::stable_sort(keys.begin(), keys.end(),
                     [](const StoredKey& a, const StoredKey& b) {
                         return a.record.created < b.record.created;
                     });
    return keys;
}

void KeyStore::add(const StoredKey& key)
{
    const std::string name = schema_.key_record(key.digest);
    const std::string index = schema_.key_index();
    const std::string members = schema_.account_keys(key.record.account);

    redis_.call(resp::Command("WATCH").arg(name));
    const bool exists =
        redis_.call(resp::Command("EXISTS").arg(name)).integer() != 0;
    if (exists) {
        throw Failure("this key exists already");
    }

    // Listed before it works: an interrupted command must not leave a key that
    // works and that nobody sees.
    redis_.call(resp::Command("HSET")
                    .arg(index)
                    .arg(key.record.id)
                    .own(api::to_hex(api::bytes_of(key.digest))));
    redis_.call(resp::Command("SADD").arg(members).arg(key.record.id));
    // With today's epoch of its account a worker takes the record at first
    // sight.
    api::KeyRecord record = key.record;
    record.epoch = touch(record.account);
    if (!redis_.transaction({keys_.put(key.digest, record)})) {
        throw Failure("someone else has just added this key");
    }
}

std::optional<api::KeyRecord> KeyStore::change_record(const api::Digest& digest,
                                                      const Change& change)
{
    const std::string name = schema_.key_record(digest);
    for (;;) {
        redis_.call(resp::Command("WATCH").arg(name));
        auto found = store::Keys::parse(redis_.call(keys_.get(digest)));
        if (found.result != store::Keys::Found::Result::found) {
            redis_.call(resp::Command("UNWATCH"));
            return std::nullopt;
        }
        change(found.record);
        if (redis_.transaction({resp::Command("DEL").arg(name),
                                keys_.put(digest, found.record)})) {
            return std::move(found.record);
        }
    }
}

api::KeyRecord KeyStore::update(std::string_view id, const Change& change)
{
    auto record = change_record(digest_of(id), change);
    if (!record) {
        damaged(id);
    }
    announce(record->account);
    return std::move(*record);
}

std::int64_t KeyStore::touch(std::string_view account)
{
    const std::string state = schema_.account_state(account);
    return redis_
        .run_script([&](bool eval) {
            return store::call(store::scripts::touch_account(), 1, eval)
                .arg(state);
        })
        .integer();
}

void KeyStore::announce(std::string_view account)
{
    const std::int64_t epoch = touch(account);

    // The records name the new epoch only to save workers a second look, so a
    // missing one does no harm.
    const std::string members = schema_.account_keys(account);
    const resp::Reply& reply =
        redis_.call(resp::Command("SMEMBERS").arg(members));
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < reply.size(); ++i) {
        ids.emplace_back(reply[i].text());
    }
    for (const std::string& id : ids) {
        if (const auto digest = indexed(id)) {
            change_record(
                *digest, [&](api::KeyRecord& record) { record.epoch = epoch; });
        }
    }
}

void KeyStore::remove(std::string_view id)
{
    const api::Digest digest = digest_of(id);
    // Disabled first, so that the key is dead everywhere even if this command
    // is interrupted after the record is gone.
    const auto record = change_record(
        digest, [](api::KeyRecord& doomed) { doomed.disabled = true; });
    if (record) {
        announce(record->account);
        remove_record(digest, id, record->account);
    } else {
        const std::string name = schema_.key_record(digest);
        redis_.call(resp::Command("DEL").arg(name));
    }
    const std::string index = schema_.key_index();
    redis_.call(resp::Command("HDEL").arg(index).arg(id));
}

void KeyStore::remove_record(const api::Digest& digest, std::string_view id,
                             std::string_view account)
{
    const std::string name = schema_.key_record(digest);
    const std::string members = schema_.account_keys(account);
    redis_.call(resp::Command("DEL").arg(name));
    redis_.call(resp::Command("SREM").arg(members).arg(id));
    announce(account);
    if (redis_.call(resp::Command("SCARD").arg(members)).integer() == 0) {
        redis_.call(resp::Command("DEL")
                        .own(schema_.strikes(account))
                        .own(schema_.bans(account)));
    }
}

AccountUsage KeyStore::usage(std::string_view account)
{
    const resp::Reply* replies = redis_.transaction({
        resp::Command("GET").own(schema_.account_state(account)),
        resp::Command("GET").own(schema_.strikes(account)),
        resp::Command("GET").own(schema_.bans(account)),
        resp::Command("TIME"),
    });
    if (!replies || replies->size() != 4 || (*replies)[3].size() != 2) {
        throw Failure("unexpected reply of Redis to EXEC");
    }
    const resp::Reply& seen = *replies;
    const api::Millis now =
        number_of(seen[3][0]) * 1000 + number_of(seen[3][1]) / 1000;

    AccountUsage usage;
    usage.strikes = number_of(seen[1]);
    usage.bans = number_of(seen[2]);
    if (seen[0].is(resp::Type::nil)) {
        return usage;
    }
    const auto state = store::AccountState::decode(seen[0].text());
    if (!state) {
        throw Failure("the state of account " + std::string(account)
                      + " is damaged");
    }
    if (state->minute_end > now) {
        usage.minute = {state->minute_used, state->minute_end};
    }
    if (state->day_end > now) {
        usage.day = {state->day_used, state->day_end};
    }
    if (state->ban_until > now) {
        usage.banned_until = state->ban_until;
    }
    return usage;
}

bool KeyStore::unban(std::string_view account)
{
    const bool was_banned =
        redis_
            .run_script([&](bool eval) {
                return store::call(store::scripts::unban(), 3, eval)
                    .own(schema_.account_state(account))
                    .own(schema_.strikes(account))
                    .own(schema_.bans(account));
            })
            .integer()
        == 1;
    announce(account);
    return was_banned;
}

}  // namespace petstore::ctl
