#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "../scan_tasks.h"
#include "key_tasks.h"

namespace petstore::store {

namespace {

using Found = KeyCommands::Found::Result;

using IndexEntries = std::map<std::string, api::Digest>;

Task<IndexEntries> read_entries(const KeyServers& servers, KeyListing& listing)
{
    const std::string key = servers.schema.key_index();
    const auto entries = co_await read_hash(servers.keys, key);
    IndexEntries index;
    for (const auto& [id, hex] : entries) {
        if (const auto digest = api::digest_of_hex(hex)) {
            index.emplace(id, *digest);
        } else {
            listing.damaged_entries.insert(id);
        }
    }
    co_return index;
}

// Adds one record.
Task<> list_key(const KeyServers& servers, const std::string& id,
                const api::Digest& digest, KeyListing& listing,
                ServersAway& away)
{
    const std::string record = servers.schema.key_record(digest);
    if (away.is_away(servers, record)) {
        listing.unread.push_back(id);
        co_return;
    }
    StoredKey key(digest);
    auto found = Found::invalid;
    try {
        found = co_await read_record(servers, key);
    } catch (const Failed& failed) {
        if (away.take(servers, record, failed)) {
            listing.unread.push_back(id);
            co_return;
        }
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
    }
    if (found == Found::invalid) {
        listing.damaged.push_back(id);
    } else if (found == Found::absent || key.record.id != id) {
        listing.missing.push_back(id);
    } else {
        listing.keys.push_back(std::move(key));
    }
}

// Finds the entry of a key in the index, and adds its record.
Task<> list_indexed_key(const KeyServers& servers, const std::string& id,
                        KeyListing& listing, ServersAway& away)
{
    std::optional<api::Digest> digest;
    try {
        digest = co_await read_index(servers, id);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
        listing.damaged_entries.insert(id);
        co_return;
    }
    if (digest) {
        co_await list_key(servers, id, *digest, listing, away);
    }
}

void sort_by_age(std::vector<StoredKey>& keys)
{
    std::sort(keys.begin(), keys.end(),
              [](const StoredKey& a, const StoredKey& b) {
                  return std::tie(a.record.created, a.record.id)
                         < std::tie(b.record.created, b.record.id);
              });
}

}  // namespace

bool ServersAway::is_away(const KeyServers& servers,
                          const std::string& key) const
{
    return away_.count(servers.keys.group_of(key)) != 0;
}

bool ServersAway::take(const KeyServers& servers, const std::string& key,
                       const Failed& failed)
{
    if (!failed.lost || !servers.keys.is_cluster()) {
        return false;
    }
    away_.insert(servers.keys.group_of(key));
    return true;
}

Task<KeyListing> list_keys(KeyServers servers)
{
    KeyListing listing;
    const auto index = co_await read_entries(servers, listing);
    listing.keys.reserve(index.size());
    ServersAway away;
    const auto list_one = [&](const auto& entry) {
        return list_key(servers, entry.first, entry.second, listing, away);
    };
    co_await ForEach(index, KeyListing::kAtOnce, list_one);
    sort_by_age(listing.keys);
    co_return listing;
}

Task<KeyListing> list_keys_of(const KeyServers& servers,
                              const std::string& account)
{
    KeyListing listing;
    const std::string name = servers.schema.account_keys(account);
    const auto ids = co_await read_set(servers.keys, name);
    ServersAway away;
    const auto list_one = [&](const std::string& id) {
        return list_indexed_key(servers, id, listing, away);
    };
    co_await ForEach(ids, KeyListing::kAtOnce, list_one);
    // The entry counts only if the record agrees.
    const auto is_other = [&](const StoredKey& key) {
        return key.record.account != account;
    };
    listing.keys.erase(
        std::remove_if(listing.keys.begin(), listing.keys.end(), is_other),
        listing.keys.end());
    sort_by_age(listing.keys);
    co_return listing;
}

}  // namespace petstore::store
