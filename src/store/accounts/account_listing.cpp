#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "../../redis/scan.h"
#include "../keys/key_tasks.h"
#include "account_record.h"

namespace petstore::store {

namespace {

Task<std::set<std::string>> read_account_ids(const KeyServers& servers)
{
    std::set<std::string> ids;  // a scan may return an entry twice
    auto scan = redis::Scan::of_hash(servers.schema.account_index());
    while (!scan.done()) {
        const redis::Reply& reply = co_await ask(servers.keys, scan.next());
        const redis::Reply* const entries = scan.take(reply);
        if (entries == nullptr) {
            throw damaged("unexpected reply of Redis to HSCAN");
        }
        for (std::size_t i = 0; i + 1 < entries->size(); i += 2) {
            ids.emplace((*entries)[i].text());
        }
    }
    co_return ids;
}

Task<> list_account(const KeyServers& servers, const std::string& id,
                    AccountListing& listing, ServersAway& away)
{
    const std::string key = servers.schema.account_record(id);
    if (away.is_away(servers, key)) {
        listing.unread.push_back(id);
        co_return;
    }
    try {
        auto account = co_await read_account(servers, id);
        if (account) {
            listing.accounts.push_back(std::move(*account));
        } else {
            listing.missing.push_back(id);
        }
    } catch (const Failed& failed) {
        if (away.take(servers, key, failed)) {
            listing.unread.push_back(id);
        } else if (failed.failure.refusal == Refusal::damaged) {
            listing.damaged.push_back(id);
        } else {
            throw;
        }
    }
}

}  // namespace

Task<AccountListing> list_accounts(KeyServers servers, bool with_deleted)
{
    AccountListing listing;
    const auto ids = co_await read_account_ids(servers);
    ServersAway away;
    const auto list_one = [&](const std::string& id) {
        return list_account(servers, id, listing, away);
    };
    co_await ForEach(ids, KeyListing::kAtOnce, list_one);
    auto& accounts = listing.accounts;
    if (!with_deleted) {
        accounts.erase(std::remove_if(accounts.begin(), accounts.end(),
                                      [](const api::AccountRecord& account) {
                                          return account.deleted != 0;
                                      }),
                       accounts.end());
    }
    std::sort(accounts.begin(), accounts.end(),
              [](const api::AccountRecord& a, const api::AccountRecord& b) {
                  return std::tie(a.created, a.id) < std::tie(b.created, b.id);
              });
    co_return listing;
}

}  // namespace petstore::store
