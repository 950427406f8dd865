#include "../../api/administration_json.h"
#include "../../store/plans/plan_administration.h"
#include "admin_operations.h"

namespace petstore::service {

namespace {

store::Failed no_such_plan()
{
    return store::refused(store::Refusal::plan_not_found,
                          api::ErrorCode::not_found, "");
}

}  // namespace

AdminTask list_plans(const AdminCall&, AdminStore& store)
{
    const store::KnownPlans known = co_await known_plans(store);
    AdminResponse response = empty_list();
    for (const auto& [name, plan] : known.plans()) {
        append(response, api::plan_json(name, plan.limits,
                                        store::to_string(plan.source)));
    }
    co_return response;
}

AdminTask put_plan(const AdminCall& call, AdminStore& store)
{
    if (!api::may_name_plan(call.id)) {
        throw invalid(
            {api::ErrorCode::invalid_field,
             "The name of a plan must be 1 to 32 lower-case letters, digits, hyphens or underscores, and none of none, all and unknown."});
    }
    const api::Limits limits = call.body.limits();
    co_await store::set_plan(store.links, call.id, limits);
    AdminResponse response;
    response.body = api::plan_json(call.id, limits,
                                   store::to_string(store::PlanSource::redis));
    co_return response;
}

AdminTask delete_plan(const AdminCall& call, AdminStore& store)
{
    if (!api::is_plan_name(call.id)) {
        throw no_such_plan();
    }
    co_await store::remove_plan(store.links, call.id);
    co_return no_content();
}

}  // namespace petstore::service
