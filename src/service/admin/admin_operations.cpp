#include "admin_operations.h"

#include <utility>

#include "../../store/admin_claim_tasks.h"
#include "../../store/keys/key_administration.h"
#include "../../store/plans/plan_administration.h"

namespace petstore::service {

store::Task<std::optional<store::StoredKey>>
find_made_key(const AdminCall& call, const AdminStore& store,
              const Attempt& attempt)
{
    if (!attempt.repeated) {
        co_return std::nullopt;
    }
    std::optional<store::StoredKey> found;
    if (call.body.sha256) {
        // By its digest: an import may not have reached the index.
        found = co_await store::find_optional(store.links, *call.body.sha256);
        if (found && found->record.id != attempt.made.id) {
            found.reset();
        }
    } else {
        found = co_await store::find_optional(store.links, attempt.made.id);
        if (!found) {
            throw overtaken();  // it was removed meanwhile
        }
    }
    co_return found;
}

store::Task<store::UsageListing> read_usage(const AdminStore& store,
                                            const store::IndexPage& page,
                                            const api::UsagePeriod& period)
{
    std::vector<std::string> ids;
    for (const auto& [id, created] : page.entries) {
        ids.push_back(id);
    }
    return store::list_usage(store.links, std::move(ids), period);
}

store::Task<store::KnownPlans> known_plans(const AdminStore& store)
{
    auto all = co_await store::list_plans(store.links);
    if (all.hosts_unread()) {
        throw unread();
    }
    co_return all;
}

bool lacks_numbers(const api::OwnPlan& key, const api::OwnPlan& account)
{
    const api::PlanTable built_in;
    const api::PlanInForce plan = built_in.plan_in_force(key, account);
    return built_in.needs_numbers(plan.plan)
           && (!plan.per_minute || !plan.per_day);
}

store::Task<> check_plan(const AdminCall& call, const AdminStore& store,
                         const api::OwnPlan& key, const api::OwnPlan& account)
{
    const std::string plan(api::PlanTable().plan_in_force(key, account).plan);
    const bool lacks = lacks_numbers(key, account);
    const bool names_plan = call.body.plan && !call.body.plan->empty();
    if (!lacks && !names_plan) {
        co_return;
    }
    const store::KnownPlans plans = co_await known_plans(store);
    if (names_plan && !plans.table().knows(*call.body.plan)) {
        throw invalid(
            {api::ErrorCode::invalid_field,
             "plan must be one that Redis, a host or the product defines."});
    }
    if (lacks && plans.table().needs_numbers(plan)) {
        throw invalid({api::ErrorCode::invalid_field,
                       "plan enterprise needs per_minute and per_day."});
    }
}

store::Failed invalid(api::Error error)
{
    return store::invalid({std::move(error)});
}

store::Failed own_key()
{
    return invalid(
        {api::ErrorCode::own_key,
         "The key or account of the request itself cannot be changed."});
}

store::Task<bool> is_overtaken(const AdminStore& store, const Attempt& attempt)
{
    if (attempt.claim.empty()) {
        co_return false;
    }
    const auto now =
        co_await store::find_claim(store.links.main, attempt.claim);
    const bool is_own =
        now
        && (now->status == 0 ? now->made.id == attempt.made.id
                             : now->location == "/keys/" + attempt.made.id);
    co_return !is_own;
}

store::Failed overtaken()
{
    return {
        store::failure_of(redis::NoReply::in_doubt, store::Purpose::change)};
}

store::Failed unread()
{
    return {store::unavailable()};
}

AdminResponse no_content()
{
    AdminResponse response;
    response.status = 204;
    return response;
}

AdminResponse empty_list()
{
    AdminResponse list;
    list.body = "[]";
    return list;
}

void append(AdminResponse& list, std::string_view object)
{
    std::string& array = list.body;
    array.pop_back();
    array.append(array.size() == 1 ? "" : ",").append(object).push_back(']');
}

void link_to(const std::optional<api::ScanPlace>& next, const AdminCall& call,
             AdminResponse& list)
{
    if (next) {
        list.link =
            api::admin_links(call.list, call.operation, call.query, *next);
    }
}

}  // namespace petstore::service
