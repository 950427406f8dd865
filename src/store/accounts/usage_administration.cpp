#include "usage_administration.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "account_index_tasks.h"
#include "account_tasks.h"
#include "usage_commands.h"

namespace petstore::store {

namespace {

constexpr std::size_t kAtOnce = 256;

// Reads usage.month alone, after read_counts() without the ledger of this
// month, with which the month begins.
Task<> find_month(const StoreLinks& links, api::Day from, api::Day to,
                  api::AccountUsage& usage)
{
    const api::Day today = api::day_of(usage.now / 1000);
    const bool was_read = from <= to && api::first_of_month(from) <= today
                          && today < api::first_of_next_month(to);
    const bool is_open = usage.month.reset != 0;
    if (was_read || is_open || usage.epoch == 0) {
        co_return;
    }
    api::AccountUsage this_month;
    this_month.account.id = usage.account.id;
    co_await read_counts(links, today, today, this_month);
    usage.month = this_month.month;
}

// nullopt if there is no such account.
Task<std::optional<api::AccountUsage>>
find_usage(const StoreLinks& links, std::string id, api::UsagePeriod period)
{
    auto account = co_await read_account(links, id);
    if (!account) {
        co_return std::nullopt;
    }
    api::AccountUsage usage;
    usage.account = std::move(*account);
    co_await read_counts(links, period.from, period.to, usage);
    co_await find_month(links, period.from, period.to, usage);
    co_await find_last_use(links, usage);
    co_return usage;
}

// Damage concerns its account alone.
Task<> read_into(const StoreLinks& links, const std::string& id,
                 const api::UsagePeriod& period,
                 std::optional<api::AccountUsage>& usage, UsageListing& listing)
{
    try {
        usage = co_await find_usage(links, id, period);
        if (usage) {
            co_return;
        }
        const bool missing = co_await lacks_record(links, id);
        if (missing) {
            listing.damaged.emplace_back(
                "account " + id
                + " is listed but has no record: an interrupted command left it, or Redis has lost it. Restore a backup, or remove the entry with petstorectl account delete "
                + id);
        }
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
        listing.damaged.emplace_back(failed.failure.error.message.text());
    }
}

}  // namespace

Task<api::AccountUsage> read_usage(StoreLinks links, std::string account,
                                   api::UsagePeriod period)
{
    auto usage = co_await find_usage(links, account, period);
    if (!usage) {
        throw account_not_found();
    }
    co_return std::move(*usage);
}

Task<UsageListing> list_usage(StoreLinks links,
                              std::vector<std::string> accounts,
                              api::UsagePeriod period)
{
    UsageListing listing;
    std::erase_if(accounts,
                  [](const std::string& id) { return !api::is_id(id); });
    std::vector<std::optional<api::AccountUsage>> found(accounts.size());
    const auto read_one = [&](const std::string& id) {
        const auto place = static_cast<std::size_t>(&id - accounts.data());
        return read_into(links, id, period, found[place], listing);
    };
    co_await ForEach(accounts, kAtOnce, read_one);
    for (auto& usage : found) {
        if (usage) {
            listing.accounts.push_back(std::move(*usage));
        }
    }
    co_return listing;
}

Task<std::vector<std::string>> list_account_ids(StoreLinks links)
{
    const auto entries =
        co_await read_hash(links.main, links.schema.account_index());
    co_await forget_expired_accounts(links, entries);
    std::vector<std::pair<api::UnixTime, std::string>> created;
    created.reserve(entries.size());
    for (const auto& [id, entry] : entries) {
        if (api::is_id(id)) {
            created.emplace_back(created_in_index(entry), id);
        }
    }
    std::sort(created.begin(), created.end());
    std::vector<std::string> ids;
    ids.reserve(created.size());
    for (auto& [time, id] : created) {
        ids.push_back(std::move(id));
    }
    co_return ids;
}

Task<IndexPage> read_account_index(StoreLinks links, api::ScanPlace from,
                                   std::size_t most)
{
    return read_index_page(links.main, links.schema.account_index(),
                           IndexKind::hash, std::move(from), most);
}

Task<> read_counts(const StoreLinks& links, api::Day from, api::Day to,
                   api::AccountUsage& usage)
{
    const UsageCommands commands(links.schema);
    const std::string& account = usage.account.id;
    const redis::Reply& reply =
        co_await ask(links.accounts, commands.read(account, from, to));
    const std::string wrong = commands.parse(reply, account, from, to, usage);
    if (!wrong.empty()) {
        throw damaged_redis_key({wrong});
    }
}

Task<> find_last_use(const StoreLinks& links, api::AccountUsage& usage)
{
    if (usage.last_used) {
        co_return;
    }
    const api::Day today = api::day_of(usage.now / 1000);
    const api::UsagePeriod kept = api::UsagePeriod{0, today}.kept_at(today);
    api::AccountUsage all;
    all.account.id = usage.account.id;
    co_await read_counts(links, kept.from, kept.to, all);
    const auto last =
        std::find_if(all.days.rbegin(), all.days.rend(),
                     [](const auto& day) { return day.admitted > 0; });
    if (last != all.days.rend()) {
        usage.last_used = last->start;
    }
}

}  // namespace petstore::store
