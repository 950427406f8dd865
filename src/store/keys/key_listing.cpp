#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "../../redis/scan.h"
#include "key_tasks.h"

namespace petstore::store {

namespace {

using Found = KeyCommands::Found::Result;

// Of the index: a scan may return an entry twice.
using IndexEntries = std::map<std::string, api::Digest>;

Task<IndexEntries> read_entries(const KeyServers& servers, KeyListing& listing)
{
    IndexEntries index;
    auto scan = redis::Scan::of_hash(servers.schema.key_index());
    while (!scan.done()) {
        const redis::Reply& reply = co_await ask(servers.keys, scan.next());
        const redis::Reply* const entries = scan.take(reply);
        if (entries == nullptr) {
            throw damaged("unexpected reply of Redis to HSCAN");
        }
        for (std::size_t i = 0; i + 1 < entries->size(); i += 2) {
            std::string id((*entries)[i].text());
            if (const auto digest =
                    api::digest_of_hex((*entries)[i + 1].text())) {
                index.emplace(std::move(id), *digest);
            } else {
                listing.damaged_entries.insert(std::move(id));
            }
        }
    }
    co_return index;
}

// Adds one record. `away`: groups of servers, see Link::group_of(); waiting
// once for a server that is away is enough.
Task<> list_key(const KeyServers& servers, const std::string& id,
                const api::Digest& digest, KeyListing& listing,
                std::set<std::size_t>& away)
{
    const auto group = servers.keys.group_of(servers.schema.key_record(digest));
    if (away.count(group) != 0) {
        listing.unread.push_back(id);
        co_return;
    }
    StoredKey key(digest);
    auto found = Found::invalid;
    try {
        found = co_await read_record(servers, key);
    } catch (const Failed& failed) {
        if (failed.lost && servers.keys.is_cluster()) {
            listing.unread.push_back(id);
            away.insert(group);
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

}  // namespace

Task<KeyListing> list_keys(KeyServers servers)
{
    KeyListing listing;
    const auto index = co_await read_entries(servers, listing);
    listing.keys.reserve(index.size());
    std::set<std::size_t> away;
    const auto list_one = [&](const auto& entry) {
        return list_key(servers, entry.first, entry.second, listing, away);
    };
    co_await ForEach(index, KeyListing::kAtOnce, list_one);
    std::sort(listing.keys.begin(), listing.keys.end(),
              [](const StoredKey& a, const StoredKey& b) {
                  return std::tie(a.record.created, a.record.id)
                         < std::tie(b.record.created, b.record.id);
              });
    co_return listing;
}

}  // namespace petstore::store
