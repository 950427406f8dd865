#include "../../api/administration_json.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/account_tasks.h"
#include "../../store/accounts/usage_administration.h"
#include "admin_operations.h"

namespace petstore::service {

namespace {

// A filtered list reads kPiece entries at a time and stops after kMostRead.
constexpr std::size_t kPiece = 100;
constexpr std::size_t kMostRead = 1000;

store::Task<std::string> account_object(const AdminStore& store,
                                        const api::AccountRecord& account)
{
    const api::AccountUsage used = co_await store::read_usage(
        store.links, account.id, api::UsagePeriod::none());
    co_return api::account_json(account, used.last_used);
}

bool has_plan(const api::AccountRecord& account, const std::string& plan)
{
    return plan.empty()
           || (account.plan.empty() ? "free" : account.plan) == plan;
}

// Appends those of a piece of the index that the query asks for, at most
// `most`. Returns where to go on.
store::Task<std::optional<api::ScanPlace>>
append_accounts(const AdminCall& call, const AdminStore& store,
                const store::IndexPage& page, std::size_t& most,
                AdminResponse& list)
{
    constexpr api::UsagePeriod kPeriod = api::UsagePeriod::none();
    const store::UsageListing listing =
        co_await read_usage(store, page, kPeriod);
    std::size_t entry = 0;
    for (const api::AccountUsage& usage : listing.accounts) {
        if (most == 0) {
            co_return page.after(entry);
        }
        while (page.entries[entry].first != usage.account.id) {
            ++entry;
        }
        if (usage.account.deleted == 0
            && has_plan(usage.account, call.query.plan)) {
            append(list, api::account_json(usage.account, usage.last_used));
            --most;
        }
    }
    co_return page.next;
}

// By its external id there is at most one.
AdminTask list_one_account(const AdminCall& call, const AdminStore& store)
{
    const store::AccountName name{{}, call.query.external_id};
    const auto account = co_await if_any(store::find_account(store.links, name),
                                         store::Refusal::account_not_found);
    AdminResponse response = empty_list();
    if (account && has_plan(*account, call.query.plan)) {
        const std::string object = co_await account_object(store, *account);
        append(response, object);
    }
    co_return response;
}

}  // namespace

AdminTask list_accounts(const AdminCall& call, AdminStore& store)
{
    if (!call.query.external_id.empty()) {
        co_return co_await list_one_account(call, store);
    }
    auto most = static_cast<std::size_t>(call.query.limit);
    AdminResponse response = empty_list();
    std::optional<api::ScanPlace> place(call.query.place);
    for (std::size_t read = 0; place && most > 0 && read < kMostRead;) {
        const std::size_t piece = call.query.plan.empty() ? most : kPiece;
        const store::IndexPage page =
            co_await store::read_account_index(store.links, *place, piece);
        place = co_await append_accounts(call, store, page, most, response);
        read += page.entries.size();
    }
    link_to(place, call, response);
    co_return response;
}

AdminTask create_account(const AdminCall& call, AdminStore& store,
                         const Attempt& attempt)
{
    api::AccountRecord account;
    account.id = attempt.made.id;
    call.body.apply(account);
    const api::OwnPlan none;
    co_await check_plan(call, store, none, account);
    account.created = co_await store::redis_time(store.links.accounts);
    account = co_await store::create_account(store.links, account);
    AdminResponse response;
    response.status = 201;
    response.body = co_await confirmed(account_object(store, account));
    response.location = "/accounts/" + account.id;
    co_return response;
}

AdminTask get_account(const AdminCall& call, AdminStore& store)
{
    const store::AccountName name{call.id, {}};
    const auto account = co_await store::find_account(store.links, name);
    AdminResponse response;
    response.body = co_await account_object(store, account);
    co_return response;
}

AdminTask update_account(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.caller_account_id) {
        throw own_key();
    }
    const store::AccountName name{call.id, {}};
    const api::OwnPlan none;
    const bool names_limits = call.body.names_limits();
    for (store::Rounds rounds;; rounds.next()) {
        auto account = co_await store::find_account(store.links, name);
        call.body.apply(account);
        if (names_limits) {
            co_await check_plan(call, store, none, account);
        }
        const bool may_lack = !names_limits || lacks_numbers(none, account);
        const store::AccountChange change = [&](api::AccountRecord& record) {
            call.body.apply(record);
            record.implicit = false;
            if (!may_lack && lacks_numbers(none, record)) {
                throw Outdated();
            }
        };
        const auto changed = co_await if_current(
            store::update_account(store.links, name, change));
        if (changed) {
            AdminResponse response;
            response.body = co_await confirmed(account_object(store, *changed));
            co_return response;
        }
    }
}

AdminTask delete_account(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.caller_account_id) {
        throw own_key();
    }
    const store::AccountName name{call.id, {}};
    co_await store::delete_account(store.links, name);
    co_return no_content();
}

AdminTask unban_account(const AdminCall& call, AdminStore& store)
{
    const store::AccountName name{call.id, {}};
    co_await store::find_account(store.links, name);
    co_await store::unban_account(store.links, call.id);
    co_return no_content();
}

AdminTask reset_account(const AdminCall& call, AdminStore& store)
{
    const store::AccountName name{call.id, {}};
    co_await store::reset_account(store.links, name);
    co_return no_content();
}

}  // namespace petstore::service
