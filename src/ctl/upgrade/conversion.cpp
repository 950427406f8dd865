#include "conversion.h"

#include <algorithm>
#include <tuple>

namespace petstore::ctl {

void name_plan(api::KeyRecord& key)
{
    if (key.plan.empty()) {
        key.plan = "free";
    }
}

api::AccountRecord account_of(const std::vector<const api::KeyRecord*>& keys,
                              api::UnixTime now)
{
    const auto rank = [now](const api::KeyRecord& key) {
        return std::tuple(key.usable_at(now), key.created, key.id);
    };
    const api::KeyRecord* best = keys.front();
    api::AccountRecord account;
    account.created = best->created;
    for (const api::KeyRecord* const key : keys) {
        if (rank(*best) < rank(*key)) {
            best = key;
        }
        account.created = std::min(account.created, key->created);
    }
    account.own_plan() = best->own_plan();
    account.id = best->account;
    account.label = best->label;
    account.implicit = true;
    return account;
}

bool follows(const api::OwnPlan& key, const api::OwnPlan& account) noexcept
{
    return key.plan == account.plan && key.per_minute == account.per_minute
           && key.per_day == account.per_day
           && key.per_month == account.per_month;
}

}  // namespace petstore::ctl
