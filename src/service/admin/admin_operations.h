#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../../store/accounts/account_listing.h"
#include "../../store/accounts/usage_administration.h"
#include "../../store/admin_claim.h"
#include "../../store/keys/key_commands.h"
#include "../../store/plans/plan_listing.h"
#include "../../store/task.h"
#include "admin_call.h"

// The operations of the admin API, as coroutines over the store's
// administration. They throw store::Failed.

namespace petstore::service {

// An attempt at a POST.
struct Attempt {
    store::AdminClaim::Made made;  // the ids of what it makes
    // Another attempt has chosen these ids, and may have made it; a key with a
    // secret it has stored.
    bool repeated = false;
    std::vector<store::AdminClaim::Made> earlier;  // see AdminClaim
    std::string claim;  // its Redis key; empty without an Idempotency-Key
};

using AdminTask = store::Task<AdminResponse>;

AdminTask list_accounts(const AdminCall& call, AdminStore& store);
AdminTask create_account(const AdminCall& call, AdminStore& store,
                         const Attempt& attempt);
AdminTask get_account(const AdminCall& call, AdminStore& store);
AdminTask update_account(const AdminCall& call, AdminStore& store);
AdminTask delete_account(const AdminCall& call, AdminStore& store);
AdminTask unban_account(const AdminCall& call, AdminStore& store);
AdminTask reset_account(const AdminCall& call, AdminStore& store);

AdminTask list_keys(const AdminCall& call, AdminStore& store);
AdminTask create_key(const AdminCall& call, AdminStore& store,
                     const Attempt& attempt);
AdminTask get_key(const AdminCall& call, AdminStore& store);
AdminTask update_key(const AdminCall& call, AdminStore& store);
AdminTask delete_key(const AdminCall& call, AdminStore& store);
AdminTask rotate_key(const AdminCall& call, AdminStore& store,
                     const Attempt& attempt);

AdminTask list_plans(const AdminCall& call, AdminStore& store);
AdminTask put_plan(const AdminCall& call, AdminStore& store);
AdminTask delete_plan(const AdminCall& call, AdminStore& store);

AdminTask get_account_usage(const AdminCall& call, AdminStore& store);
AdminTask list_usage(const AdminCall& call, AdminStore& store);

// --- what they share --------------------------------------------------------

// Lets a task wait for another request that works on the same thing.
class Pause {
public:
    explicit Pause(Pauses& pauses) noexcept : pauses_(pauses) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> task)
    {
        pauses_.add(task.address());
    }
    void await_resume() const noexcept {}

private:
    Pauses& pauses_;
};

// What `sought` finds; nullopt if it is refused as `absent`.
template <typename T>
store::Task<std::optional<T>> if_any(store::Task<T> sought,
                                     store::Refusal absent)
{
    try {
        co_return co_await sought;
    } catch (const store::Failed& failed) {
        if (failed.failure.refusal != absent) {
            throw;
        }
    }
    co_return std::nullopt;
}

// The key, finished or not, that another attempt has made.
store::Task<std::optional<store::StoredKey>>
find_made_key(const AdminCall& call, const AdminStore& store,
              const Attempt& attempt);

// Whether the claim now names another key than the one that the attempt has
// stored. If not, it never will: takeovers keep stored keys. So an attempt asks
// before it finishes a key.
store::Task<bool> is_overtaken(const AdminStore& store, const Attempt& attempt);
store::Failed overtaken();  // another attempt will answer

// What the accounts of a piece of the index have used.
store::Task<store::UsageListing> read_usage(const AdminStore& store,
                                            const store::IndexPage& page,
                                            const api::UsagePeriod& period);

store::Task<store::KnownPlans> known_plans(const AdminStore& store);

// Refuses a plan that no source defines, and enterprise without numbers. An
// empty one is fine.
store::Task<> check_plan(const AdminCall& call, const AdminStore& store,
                         const api::OwnPlan& key, const api::OwnPlan& account);

// What follows a change: if Redis or memory fails there, the client cannot know
// whether it was made.
template <typename T>
store::Task<T> confirmed(store::Task<T> rest)
{
    try {
        co_return co_await rest;
    } catch (store::Failed& failed) {
        failed.failure.not_in_effect |=
            failed.failure.refusal == store::Refusal::none;
        throw;
    } catch (...) {
        store::rethrow_not_in_effect();
    }
}

// Whether check_plan() must know what defines the plan, because it is
// enterprise and lacks a number.
bool lacks_numbers(const api::OwnPlan& key, const api::OwnPlan& account);

// Thrown by a change of a record that lacks numbers only since check_plan().
struct Outdated {};

// What a change makes; nullopt if it is outdated.
template <typename T>
store::Task<std::optional<T>> if_current(store::Task<T> change)
{
    try {
        co_return co_await change;
    } catch (const Outdated&) {
    }
    co_return std::nullopt;
}

store::Failed invalid(api::Error error);
store::Failed own_key();
// A server of a Cluster is away, so a list would be incomplete.
store::Failed unread();

// 204.
AdminResponse no_content();

// "[]", to which append() adds objects.
AdminResponse empty_list();
void append(AdminResponse& list, std::string_view object);

// Links a list to its next page, if there is one.
void link_to(const std::optional<api::ScanPlace>& next, const AdminCall& call,
             AdminResponse& list);

}  // namespace petstore::service
