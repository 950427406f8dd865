#include "key_usage.h"

#include <vector>

#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/usage_administration.h"
#include "../../store/keys/key_administration.h"
#include "../accounts/account_output.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

Json window_json(const api::AccountUsage::Counter& counter, std::int64_t limit)
{
    return {{"used", counter.used},
            {"limit", limit != 0 ? Json(limit) : Json(nullptr)},
            {"reset", counter.reset
                          ? Json(api::iso_time(api::seconds_up(counter.reset)))
                          : Json(nullptr)}};
}

std::vector<std::string> window_row(std::string name,
                                    const api::AccountUsage::Counter& counter,
                                    const std::string& limit)
{
    return {std::move(name), std::to_string(counter.used), limit,
            counter.reset ? api::iso_time(api::seconds_up(counter.reset))
                          : "-"};
}

}  // namespace

void unban_key(Context& context, const KeyId& key)
{
    const std::string& id = key.id;
    const auto servers = context.keys(Access::change);
    const std::string account =
        context.await(store::find_key(servers, id)).record.account;
    const bool was_banned =
        context.await(store::unban_account(servers, account));
    report(context.json(),
           {{"id", id}, {"account", account}, {"was_banned", was_banned}},
           was_banned ? "The ban of account " + account + " is lifted."
                      : "Account " + account + " was not banned.");
}

void show_key_usage(Context& context, const KeyId& key)
{
    const auto servers = context.keys(Access::read);
    const auto plans = context.plans();
    const auto record = context.await(store::find_key(servers, key.id)).record;
    const auto used = context.await(
        store::read_usage(servers, record.account, api::UsagePeriod::none()));
    const auto plan = plans.plan_in_force(record, used.account);
    Json banned_until = nullptr;
    if (used.banned_until) {
        banned_until = api::iso_time(api::seconds_up(used.banned_until));
    }

    if (context.json()) {
        print_json({{"id", record.id},
                    {"account", record.account},
                    {"plan", plan.plan},
                    {"minute", window_json(used.minute, plan.limits.minute)},
                    {"day", window_json(used.day, plan.limits.day)},
                    {"month", window_json(used.month, plan.limits.month)},
                    {"strikes", used.strikes},
                    {"bans", used.bans},
                    {"banned_until", banned_until}});
        return;
    }
    const LimitTexts limits(plans, plan);
    print_table({{"WINDOW", "USED", "LIMIT", "RESETS"},
                 window_row("minute", used.minute, limits.minute),
                 window_row("day", used.day, limits.day),
                 window_row("month", used.month, limits.month)});
    print_line("denied requests in the ban window: "
               + std::to_string(used.strikes));
    print_line("bans of the last 24 hours: " + std::to_string(used.bans));
    if (used.banned_until) {
        print_line("banned until " + banned_until.get<std::string>());
    }
}

}  // namespace petstore::ctl
