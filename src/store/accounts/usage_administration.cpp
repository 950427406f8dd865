#include "usage_administration.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "../scan_tasks.h"
#include "account_index_tasks.h"
#include "account_tasks.h"
#include "usage_tasks.h"

namespace petstore::store {

namespace {

constexpr std::size_t kAtOnce = 256;

// nullopt if there is no such account.
Task<std::optional<api::AccountUsage>>
read_usage(const KeyServers& servers, std::string id, api::UsagePeriod period)
{
    auto account = co_await read_account(servers, id);
    if (!account) {
        co_return std::nullopt;
    }
    api::AccountUsage usage;
    usage.account = std::move(*account);
    co_await read_counts(servers, period.from, period.to, usage);
    co_await find_month(servers, period.from, period.to, usage);
    co_await find_last_use(servers, usage);
    co_return usage;
}

Task<api::AccountUsage> read_existing(const KeyServers& servers, std::string id,
                                      api::UsagePeriod period)
{
    auto usage = co_await read_usage(servers, std::move(id), period);
    if (!usage) {
        throw account_not_found();
    }
    co_return std::move(*usage);
}

// Damage concerns its account alone.
Task<> read_into(const KeyServers& servers, const std::string& id,
                 const api::UsagePeriod& period,
                 std::optional<api::AccountUsage>& usage, UsageListing& listing)
{
    try {
        usage = co_await read_usage(servers, id, period);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
        listing.damaged.emplace_back(failed.failure.error.message.text());
    }
}

Task<UsageListing> read_several(const KeyServers& servers,
                                std::vector<std::string> ids,
                                api::UsagePeriod period)
{
    UsageListing listing;
    const auto is_damaged = [](const std::string& id) {
        return !api::is_id(id);
    };
    ids.erase(std::remove_if(ids.begin(), ids.end(), is_damaged), ids.end());
    std::vector<std::optional<api::AccountUsage>> found(ids.size());
    const auto read_one = [&](const std::string& id) {
        const auto place = static_cast<std::size_t>(&id - ids.data());
        return read_into(servers, id, period, found[place], listing);
    };
    co_await ForEach(ids, kAtOnce, read_one);
    for (auto& usage : found) {
        if (usage) {
            listing.accounts.push_back(std::move(*usage));
        }
    }
    co_return listing;
}

Task<std::vector<std::string>> read_accounts(const KeyServers& servers)
{
    const std::string key = servers.schema.account_index();
    const auto entries = co_await read_hash(servers.keys, key);
    co_await forget_expired_accounts(servers, entries);
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

Task<IndexPage> read_some_accounts(const KeyServers& servers,
                                   api::ScanPlace from, std::size_t most)
{
    const std::string key = servers.schema.account_index();
    co_return co_await read_index_page(servers.keys, key, IndexKind::hash, from,
                                       most);
}

}  // namespace

void UsageAdministration::read(std::string account,
                               const api::UsagePeriod& period,
                               Waiter<api::AccountUsage>& waiter)
{
    run(running_, read_existing(servers_, std::move(account), period), waiter);
}

void UsageAdministration::read(std::vector<std::string> accounts,
                               const api::UsagePeriod& period,
                               Waiter<UsageListing>& waiter)
{
    run(running_, read_several(servers_, std::move(accounts), period), waiter);
}

void UsageAdministration::accounts(Waiter<std::vector<std::string>>& waiter)
{
    run(running_, read_accounts(servers_), waiter);
}

void UsageAdministration::accounts(const api::ScanPlace& from, std::size_t most,
                                   Waiter<IndexPage>& waiter)
{
    run(running_, read_some_accounts(servers_, from, most), waiter);
}

}  // namespace petstore::store
