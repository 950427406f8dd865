#include <utility>

#include "../../api/administration_json.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/usage_administration.h"
#include "../../store/result.h"
#include "admin_operations.h"

namespace petstore::service {

namespace {

// A page that shows few of the entries read ends after so many.
constexpr std::size_t kMostRead = 1000;

store::Task<api::AccountRecord> find_account(const AdminStore& store,
                                             store::AccountName name)
{
    store::AccountAdministration accounts(store.servers);
    store::Result<api::AccountRecord> found;
    accounts.find(std::move(name), found);
    co_return co_await found;
}

store::Task<std::string> account_object(const AdminStore& store,
                                        const api::AccountRecord& account)
{
    store::UsageAdministration reader(store.servers);
    store::Result<api::AccountUsage> usage;
    reader.read(account.id, api::UsagePeriod::none(), usage);
    const api::AccountUsage used = co_await usage;
    co_return api::account_json(account, used.last_used);
}

bool has_plan(const api::AccountRecord& account, const std::string& plan)
{
    return plan.empty()
           || (account.plan.empty() ? "free" : account.plan) == plan;
}

// Those of a piece of the index that the query asks for.
store::Task<std::size_t> append_accounts(const AdminCall& call,
                                         const AdminStore& store,
                                         const store::IndexPage& page,
                                         std::string& array)
{
    std::vector<std::string> ids;
    for (const auto& [id, created] : page.entries) {
        ids.push_back(id);
    }
    store::UsageAdministration reader(store.servers);
    store::Result<store::UsageListing> read;
    reader.read(std::move(ids), api::UsagePeriod::none(), read);
    const store::UsageListing listing = co_await read;
    std::size_t count = 0;
    for (const api::AccountUsage& usage : listing.accounts) {
        if (usage.account.deleted == 0
            && has_plan(usage.account, call.query.plan)) {
            append_to_array(array,
                            api::account_json(usage.account, usage.last_used));
            ++count;
        }
    }
    co_return count;
}

// By its external id there is at most one.
AdminTask list_one_account(const AdminCall& call, const AdminStore& store)
{
    AdminAnswer answer;
    answer.body = "[]";
    store::AccountName name;
    name.external_id = call.query.external_id;
    try {
        const auto account = co_await find_account(store, name);
        if (has_plan(account, call.query.plan)) {
            const std::string object = co_await account_object(store, account);
            answer.body.clear();
            append_to_array(answer.body, object);
        }
    } catch (const store::Failed& failed) {
        if (failed.failure.refusal != store::Refusal::account_not_found) {
            throw;
        }
    }
    co_return answer;
}

store::AccountName name_of(const AdminCall& call)
{
    store::AccountName name;
    name.id = call.id;
    return name;
}

}  // namespace

AdminTask list_accounts(const AdminCall& call, AdminStore& store)
{
    if (!call.query.external_id.empty()) {
        co_return co_await list_one_account(call, store);
    }
    store::UsageAdministration reader(store.servers);
    const auto limit = static_cast<std::size_t>(call.query.limit);
    AdminAnswer answer;
    std::optional<api::ScanPlace> place(call.query.place);
    for (std::size_t found = 0, read = 0;
         place && found < limit && read < kMostRead;) {
        store::Result<store::IndexPage> next;
        reader.accounts(*place, limit - found, next);
        const store::IndexPage page = co_await next;
        found += co_await append_accounts(call, store, page, answer.body);
        read += page.entries.size();
        place = page.next;
    }
    if (answer.body.empty()) {
        answer.body = "[]";
    }
    if (place) {
        answer.link =
            api::admin_links(call.list, call.operation, call.query, *place);
    }
    co_return answer;
}

AdminTask create_account(const AdminCall& call, AdminStore& store,
                         const Attempt& attempt)
{
    api::AccountRecord account;
    account.id = attempt.id;
    call.body.apply(account);
    const api::OwnPlan none;
    co_await check_plan(call, store, none, account);
    account.created = co_await now_of(store);
    store::AccountAdministration accounts(store.servers);
    store::Result<api::AccountRecord> created;
    accounts.create(account, created);
    account = co_await created;
    AdminAnswer answer;
    answer.status = 201;
    answer.body = co_await confirmed(account_object(store, account));
    answer.location = "/accounts/" + account.id;
    co_return answer;
}

AdminTask get_account(const AdminCall& call, AdminStore& store)
{
    const store::AccountName name = name_of(call);
    const auto account = co_await find_account(store, name);
    AdminAnswer answer;
    answer.body = co_await account_object(store, account);
    co_return answer;
}

AdminTask update_account(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.account) {
        throw own_key();
    }
    const store::AccountName name = name_of(call);
    auto account = co_await find_account(store, name);
    call.body.apply(account);
    const api::OwnPlan none;
    co_await check_plan(call, store, none, account);
    store::AccountAdministration accounts(store.servers);
    store::Result<api::AccountRecord> updated;
    accounts.update(
        name,
        [&call](api::AccountRecord& record) -> std::optional<store::Failure> {
            call.body.apply(record);
            return std::nullopt;
        },
        updated);
    account = co_await updated;
    AdminAnswer answer;
    answer.body = co_await confirmed(account_object(store, account));
    co_return answer;
}

AdminTask delete_account(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.account) {
        throw own_key();
    }
    store::AccountAdministration accounts(store.servers);
    store::Result<store::Done> removed;
    accounts.remove(name_of(call), removed);
    co_await removed;
    co_return no_content();
}

AdminTask unban_account(const AdminCall& call, AdminStore& store)
{
    const store::AccountName name = name_of(call);
    co_await find_account(store, name);
    store::AccountAdministration accounts(store.servers);
    store::Result<bool> unbanned;
    accounts.unban(call.id, unbanned);
    co_await unbanned;
    co_return no_content();
}

AdminTask reset_account(const AdminCall& call, AdminStore& store)
{
    store::AccountAdministration accounts(store.servers);
    store::Result<store::Done> emptied;
    accounts.reset(name_of(call), emptied);
    co_await emptied;
    co_return no_content();
}

}  // namespace petstore::service
