#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "../scan_tasks.h"
#include "key_administration.h"
#include "key_tasks.h"

namespace petstore::store {

namespace {

using IndexEntries = std::map<std::string, api::Digest>;

Task<IndexEntries> read_entries(const StoreLinks& links, KeyListing& listing)
{
    const auto entries =
        co_await read_hash(links.main, links.schema.key_index());
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
Task<> list_key(const StoreLinks& links, const std::string& id,
                api::Digest digest, KeyListing& listing, ServersAway& away)
{
    const std::string record = links.schema.key_record(digest);
    if (away.is_away(links, record)) {
        listing.unread.push_back(id);
        co_return;
    }
    StoredKey key(digest);
    auto found = RecordFound::invalid;
    try {
        found = co_await read_record(links, key);
    } catch (const Failed& failed) {
        if (away.take(links, record, failed)) {
            listing.unread.push_back(id);
            co_return;
        }
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
    }
    if (found == RecordFound::invalid) {
        listing.damaged.push_back(id);
    } else if (found == RecordFound::absent || key.record.id != id) {
        listing.missing.push_back(id);
    } else {
        listing.keys.push_back(std::move(key));
    }
}

// Finds the entry of a key in the index, and adds its record.
Task<> list_indexed_key(const StoreLinks& links, const std::string& id,
                        KeyListing& listing, ServersAway& away)
{
    std::optional<api::Digest> digest;
    try {
        digest = co_await read_index(links, id);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
        listing.damaged_entries.insert(id);
        co_return;
    }
    if (digest) {
        co_await list_key(links, id, *digest, listing, away);
    }
}

// The entry in the index of an account counts only if the record agrees.
void remove_others(std::vector<StoredKey>& keys, const std::string& account)
{
    std::erase_if(keys, [&](const StoredKey& key) {
        return key.record.account != account;
    });
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

bool ServersAway::is_away(const StoreLinks& links, const std::string& key) const
{
    return away_.count(links.main.group_of(key)) != 0;
}

bool ServersAway::take(const StoreLinks& links, const std::string& key,
                       const Failed& failed)
{
    if (!failed.no_reply || !links.main.is_cluster()) {
        return false;
    }
    away_.insert(links.main.group_of(key));
    return true;
}

Task<KeyListing> list_keys(StoreLinks links)
{
    KeyListing listing;
    const auto index = co_await read_entries(links, listing);
    listing.keys.reserve(index.size());
    ServersAway away;
    const auto list_one = [&](const auto& entry) {
        return list_key(links, entry.first, entry.second, listing, away);
    };
    co_await ForEach(index, KeyListing::kAtOnce, list_one);
    // Most of them were deleted since the index was read.
    const auto missing = std::exchange(listing.missing, {});
    const auto list_again = [&](const std::string& id) {
        return list_indexed_key(links, id, listing, away);
    };
    co_await ForEach(missing, KeyListing::kAtOnce, list_again);
    sort_by_age(listing.keys);
    co_return listing;
}

Task<KeyListing> list_keys_of(StoreLinks links, std::string account)
{
    KeyListing listing;
    const auto ids =
        co_await read_set(links.main, links.schema.account_keys(account));
    ServersAway away;
    const auto list_one = [&](const std::string& id) {
        return list_indexed_key(links, id, listing, away);
    };
    co_await ForEach(ids, KeyListing::kAtOnce, list_one);
    remove_others(listing.keys, account);
    sort_by_age(listing.keys);
    co_return listing;
}

Task<KeyPage> list_some_keys(StoreLinks links, std::string account,
                             api::ScanPlace from, std::size_t most)
{
    const bool all = account.empty();
    std::string name =
        all ? links.schema.key_index() : links.schema.account_keys(account);
    const IndexKind kind = all ? IndexKind::hash : IndexKind::set;
    auto index = co_await read_index_page(links.main, std::move(name), kind,
                                          std::move(from), most);
    KeyPage page;
    page.next = std::move(index.next);
    page.whole = index.whole;
    KeyListing& listing = page.listing;
    ServersAway away;
    const auto list_one = [&](const auto& entry) {
        const auto digest = api::digest_of_hex(entry.second);
        return digest ? list_key(links, entry.first, *digest, listing, away)
                      : list_indexed_key(links, entry.first, listing, away);
    };
    co_await ForEach(index.entries, KeyListing::kAtOnce, list_one);
    if (!all) {
        remove_others(listing.keys, account);
    }
    std::sort(listing.keys.begin(), listing.keys.end(),
              [](const StoredKey& a, const StoredKey& b) {
                  return a.record.id < b.record.id;
              });
    co_return page;
}

}  // namespace petstore::store
