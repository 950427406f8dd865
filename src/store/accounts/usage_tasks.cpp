#include "usage_tasks.h"

#include <algorithm>
#include <string>

#include "usage_commands.h"

namespace petstore::store {

Task<> read_counts(const KeyServers& servers, api::Day from, api::Day to,
                   api::AccountUsage& usage)
{
    const UsageCommands commands(servers.schema);
    const std::string& account = usage.account.id;
    const redis::Reply& reply =
        co_await ask(servers.accounts, commands.read(account, from, to));
    const std::string wrong = commands.parse(reply, account, from, to, usage);
    if (!wrong.empty()) {
        throw damaged_redis_key({wrong});
    }
}

Task<> find_month(const KeyServers& servers, api::Day from, api::Day to,
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
    co_await read_counts(servers, today, today, this_month);
    usage.month = this_month.month;
}

Task<> find_last_use(const KeyServers& servers, api::AccountUsage& usage)
{
    if (usage.last_used) {
        co_return;
    }
    const api::Day today = api::day_of(usage.now / 1000);
    const api::UsagePeriod kept = api::UsagePeriod{0, today}.kept_at(today);
    api::AccountUsage all;
    all.account.id = usage.account.id;
    co_await read_counts(servers, kept.from, kept.to, all);
    const auto last =
        std::find_if(all.days.rbegin(), all.days.rend(),
                     [](const auto& day) { return day.admitted > 0; });
    if (last != all.days.rend()) {
        usage.last_used = last->start;
    }
}

}  // namespace petstore::store
