#include "admin_operations.h"

#include <utility>

#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../../store/plans/plan_administration.h"
#include "../../store/result.h"

namespace petstore::service {

store::Task<api::UnixTime> now_of(const AdminStore& store)
{
    store::AccountAdministration accounts(store.servers);
    store::Result<api::UnixTime> now;
    accounts.now(now);
    co_return co_await now;
}

store::Task<store::KnownPlans> known_plans(const AdminStore& store)
{
    store::PlanAdministration plans(store.servers);
    store::Result<store::KnownPlans> known;
    plans.list(known);
    co_return co_await known;
}

store::Task<> check_plan(const AdminCall& call, const AdminStore& store,
                         const api::OwnPlan& key, const api::OwnPlan& account)
{
    constexpr std::string_view kEnterprise = "enterprise";
    if (call.body.plan && !call.body.plan->empty()) {
        const store::KnownPlans plans = co_await known_plans(store);
        if (!plans.table().knows(*call.body.plan)) {
            throw invalid(
                {api::ErrorCode::invalid_field,
                 "plan must be one that Redis, a host or the product defines."});
        }
    }
    const api::PlanTable none;
    const api::PlanInForce plan = none.plan_in_force(key, account);
    if (plan.plan == kEnterprise && (!plan.per_minute || !plan.per_day)) {
        throw invalid({api::ErrorCode::invalid_field,
                       "plan enterprise needs per_minute and per_day."});
    }
}

store::Task<std::optional<store::StoredKey>>
find_made_key(const AdminStore& store, const std::string& id)
{
    store::KeyAdministration keys(store.servers);
    store::Result<store::StoredKey> found;
    keys.find(id, found);
    try {
        co_return co_await found;
    } catch (const store::Failed& failed) {
        if (failed.failure.refusal != store::Refusal::not_found) {
            throw;
        }
    }
    co_return std::nullopt;
}

store::Failed invalid(api::Error error)
{
    return {store::Failure{std::move(error)}};
}

store::Failed own_key()
{
    return {store::Failure{
        {api::ErrorCode::own_key,
         "The key or account of the request itself cannot be changed."}}};
}

AdminAnswer no_content()
{
    AdminAnswer answer;
    answer.status = 204;
    return answer;
}

void append_to_array(std::string& array, std::string_view object)
{
    if (array.empty()) {
        array.push_back('[');
    } else {
        array.back() = ',';
    }
    array.append(object).push_back(']');
}

}  // namespace petstore::service
