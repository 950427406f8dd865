#include "account_commands.h"

#include <optional>

#include "../../api/date.h"
#include "../../api/plan.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

// `limit` is null if only nginx.conf defines it.
Json usage_json(const store::AccountUsage::Counter& counter,
                const std::optional<std::int64_t>& limit)
{
    Json json = {
        {"used", counter.used}, {"limit", nullptr}, {"reset", nullptr}};
    if (limit) {
        json["limit"] = *limit;
    }
    if (counter.reset) {
        json["reset"] = api::iso_time(api::seconds_up(counter.reset));
    }
    return json;
}

std::vector<std::string> row_of(std::string name,
                                const store::AccountUsage::Counter& counter,
                                const std::optional<std::int64_t>& limit)
{
    return {std::move(name), std::to_string(counter.used),
            limit ? std::to_string(*limit) : "?",
            counter.reset ? api::iso_time(api::seconds_up(counter.reset))
                          : "-"};
}

api::KeyRecord find(Context& context, const store::KeyServers& servers,
                    const std::string& id)
{
    store::KeyAdministration keys(servers);
    return context
        .await<store::StoredKey>([&](auto& waiter) { keys.find(id, waiter); })
        .record;
}

}  // namespace

void unban_account(Context& context, const std::string& id)
{
    const auto servers = context.keys(Access::change);
    const std::string account = find(context, servers, id).account;
    store::AccountAdministration accounts(servers);
    const bool was_banned = context.await<bool>(
        [&](auto& waiter) { accounts.unban(account, waiter); });
    if (context.json()) {
        print_json(
            {{"id", id}, {"account", account}, {"was_banned", was_banned}});
    } else {
        say(was_banned ? "The ban of account " + account + " is lifted."
                       : "Account " + account + " was not banned.");
    }
}

void show_usage(Context& context, const std::string& id)
{
    const auto servers = context.keys(Access::read);
    const api::KeyRecord record = find(context, servers, id);
    store::AccountAdministration accounts(servers);
    const auto used = context.await<store::AccountUsage>(
        [&](auto& waiter) { accounts.usage(record.account, waiter); });

    const api::PlanTable plans;
    const api::PlanInForce plan = plans.plan_in_force(record, {});
    std::optional<std::int64_t> minute = plan.per_minute;
    std::optional<std::int64_t> day = plan.per_day;
    if (plans.knows(plan.plan)) {
        minute = plan.limits.minute;
        day = plan.limits.day;
    }
    Json banned_until = nullptr;
    if (used.banned_until) {
        banned_until = api::iso_time(api::seconds_up(used.banned_until));
    }

    if (context.json()) {
        print_json({{"id", record.id},
                    {"account", record.account},
                    {"plan", plan.plan},
                    {"minute", usage_json(used.minute, minute)},
                    {"day", usage_json(used.day, day)},
                    {"strikes", used.strikes},
                    {"bans", used.bans},
                    {"banned_until", banned_until}});
        return;
    }
    print_table({{"WINDOW", "USED", "LIMIT", "RESETS"},
                 row_of("minute", used.minute, minute),
                 row_of("day", used.day, day)});
    print_line("denied requests in the ban window: "
               + std::to_string(used.strikes));
    print_line("bans of the last 24 hours: " + std::to_string(used.bans));
    if (used.banned_until) {
        print_line("banned until " + banned_until.get<std::string>());
    }
}

}  // namespace petstore::ctl
