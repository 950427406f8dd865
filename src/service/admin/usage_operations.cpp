#include <algorithm>

#include "../../api/administration_json.h"
#include "../../store/accounts/account_tasks.h"
#include "../../store/accounts/usage_administration.h"
#include "admin_operations.h"

namespace petstore::service {

namespace {

// The most days or months on one page, so that its size is bounded; at least
// one account is on it.
constexpr api::Day kMostDays = 4000;

store::Task<api::UsagePeriod> period_of(const AdminCall& call,
                                        const AdminStore& store)
{
    const api::UnixTime now = co_await store::redis_time(store.links.accounts);
    co_return api::usage_period(call.query, api::day_of(now));
}

std::size_t accounts_on_page(const AdminCall& call,
                             const api::UsagePeriod& period)
{
    const api::Day days = std::max<api::Day>(1, period.to - period.from + 1);
    const api::Day most = std::max<api::Day>(1, kMostDays / days);
    return static_cast<std::size_t>(std::min<api::Day>(call.query.limit, most));
}

}  // namespace

AdminTask get_account_usage(const AdminCall& call, AdminStore& store)
{
    if (!api::is_id(call.id)) {
        throw store::refused(store::Refusal::account_not_found,
                             api::ErrorCode::not_found, "");
    }
    const api::UsagePeriod period = co_await period_of(call, store);
    const store::KnownPlans plans = co_await known_plans(store);
    const api::AccountUsage usage =
        co_await store::read_usage(store.links, call.id, period);
    AdminResponse response;
    response.body = api::usage_json(usage, plans.table(), period);
    co_return response;
}

AdminTask list_usage(const AdminCall& call, AdminStore& store)
{
    const api::UsagePeriod period = co_await period_of(call, store);
    const store::KnownPlans plans = co_await known_plans(store);
    const store::IndexPage page = co_await store::read_account_index(
        store.links, call.query.place, accounts_on_page(call, period));
    const store::UsageListing listing =
        co_await read_usage(store, page, period);
    AdminResponse response = empty_list();
    for (const api::AccountUsage& usage : listing.accounts) {
        append(response, api::usage_json(usage, plans.table(), period));
    }
    if (page.next) {
        api::AdminQuery query = call.query;
        constexpr api::Day kFirst = 0;  // as empty as an earlier one
        query.first_page = {period.from, std::max(kFirst, period.to)};
        response.link =
            api::admin_links(call.list, call.operation, query, *page.next);
    }
    co_return response;
}

}  // namespace petstore::service
