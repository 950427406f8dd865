#include <algorithm>
#include <tuple>
#include <utility>

#include "../keys/key_tasks.h"
#include "../scan_tasks.h"
#include "account_administration.h"
#include "account_index_tasks.h"
#include "account_tasks.h"
#include "usage_administration.h"

namespace petstore::store {

namespace {

Task<> list_account(const StoreLinks& links, const std::string& id,
                    AccountListing& listing, ServersAway& away)
{
    const std::string key = links.schema.account_record(id);
    if (away.is_away(links, key)) {
        listing.unread.push_back(id);
        co_return;
    }
    try {
        auto account = co_await read_account(links, id);
        if (account) {
            listing.accounts.push_back(std::move(*account));
            co_return;
        }
        const bool missing = co_await lacks_record(links, id);
        if (missing) {
            listing.missing.push_back(id);
        }
    } catch (const Failed& failed) {
        if (away.take(links, key, failed)) {
            listing.unread.push_back(id);
        } else if (failed.failure.refusal == Refusal::damaged) {
            listing.damaged.push_back(id);
        } else {
            throw;
        }
    }
}

}  // namespace

Task<AccountListing> list_accounts(StoreLinks links)
{
    AccountListing listing;
    const auto entries =
        co_await read_hash(links.main, links.schema.account_index());
    ServersAway away;
    const auto list_one = [&](const auto& entry) {
        return list_account(links, entry.first, listing, away);
    };
    co_await ForEach(entries, KeyListing::kAtOnce, list_one);
    co_await forget_expired_accounts(links, entries);
    auto& accounts = listing.accounts;
    std::erase_if(accounts, [](const api::AccountRecord& account) {
        return account.deleted != 0;
    });
    std::sort(accounts.begin(), accounts.end(),
              [](const api::AccountRecord& a, const api::AccountRecord& b) {
                  return std::tie(a.created, a.id) < std::tie(b.created, b.id);
              });
    co_return listing;
}

Task<AccountPage> list_some_accounts(const StoreLinks& links,
                                     api::ScanPlace from, std::size_t most)
{
    auto index = co_await read_account_index(links, std::move(from), most);
    AccountPage page;
    page.next = std::move(index.next);
    page.whole = index.whole;
    ServersAway away;
    const auto list_one = [&](const auto& entry) {
        return list_account(links, entry.first, page.listing, away);
    };
    co_await ForEach(index.entries, KeyListing::kAtOnce, list_one);
    co_return page;
}

}  // namespace petstore::store
