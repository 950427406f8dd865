// Runs an operation, once for each Idempotency-Key, and says in the API's terms
// why it failed.
#include <stdexcept>
#include <utility>

#include "../../api/text.h"
#include "../../store/accounts/account_tasks.h"
#include "../../store/admin_claim_tasks.h"
#include "../../store/keys/key_administration.h"
#include "../../store/random.h"
#include "admin_operations.h"

namespace petstore::service {

namespace {

// Much longer than an attempt usually takes. One that is only slow may go on:
// both make the same object, or one gives way.
constexpr store::Monotonic kTakeOverAfter = 1000;

// Attempts whose objects a claim names.
constexpr std::size_t kMostEarlier = 16;

AdminTask perform(const AdminCall& call, AdminStore& store,
                  const Attempt& attempt)
{
    using api::Operation;
    switch (call.operation) {
    case Operation::list_accounts:
        return list_accounts(call, store);
    case Operation::create_account:
        return create_account(call, store, attempt);
    case Operation::get_account:
        return get_account(call, store);
    case Operation::update_account:
        return update_account(call, store);
    case Operation::delete_account:
        return delete_account(call, store);
    case Operation::unban_account:
        return unban_account(call, store);
    case Operation::reset_account:
        return reset_account(call, store);
    case Operation::get_account_usage:
        return get_account_usage(call, store);
    case Operation::list_usage:
        return list_usage(call, store);
    case Operation::list_keys:
        return list_keys(call, store);
    case Operation::create_key:
        return create_key(call, store, attempt);
    case Operation::get_key:
        return get_key(call, store);
    case Operation::update_key:
        return update_key(call, store);
    case Operation::delete_key:
        return delete_key(call, store);
    case Operation::rotate_key:
        return rotate_key(call, store, attempt);
    case Operation::list_plans:
        return list_plans(call, store);
    case Operation::put_plan:
        return put_plan(call, store);
    case Operation::delete_plan:
        return delete_plan(call, store);
    case Operation::none:
    case Operation::list_pets:
    case Operation::create_pet:
    case Operation::get_pet:
    case Operation::get_usage:
        break;
    }
    throw std::logic_error("not an operation of the admin API");
}

// A request that was admitted before `petstorectl move` would change the copy
// that is left behind.
store::Task<> refuse_moved(const AdminStore& store)
{
    const store::MarkedLimits marked =
        co_await store::read_limits_marker(store.links.main, store.schema);
    if (marked.moved()) {
        throw store::refused(
            store::Refusal::limits_elsewhere,
            api::ErrorCode::service_unavailable,
            "The store is being moved to another Redis, or was moved.");
    }
}

// --- Idempotency-Key --------------------------------------------------------

store::Failed reused()
{
    return invalid({api::ErrorCode::idempotency_key_reused,
                    "This Idempotency-Key was used with another request."});
}

AdminResponse replayed(const store::AdminClaim& claim)
{
    AdminResponse response;
    response.status = claim.status;
    response.body = claim.body;
    response.location = claim.location;
    response.replayed = true;
    return response;
}

store::AdminClaim new_claim(const AdminCall& call)
{
    store::AdminClaim claim;
    claim.request = api::to_hex(api::bytes_of(call.once->request));
    claim.attempt = store::new_id();
    claim.made = {store::new_id(), store::new_id()};
    return claim;
}

bool makes_secret(const AdminCall& call)
{
    return (call.operation == api::Operation::create_key && !call.body.sha256)
           || call.operation == api::Operation::rotate_key;
}

struct Claimed {
    store::AdminClaim claim;
    bool repeated = false;  // see Attempt
};

// Takes over a stalled attempt; nullopt if another one did so first. Objects
// keep their ids. Only an unstored key gets a new one, since two secrets cannot
// share one. The old key is looked for after the claim names the new one: an
// attempt that stores it later will see that.
store::Task<std::optional<Claimed>> take_over(const AdminCall& call,
                                              AdminStore& store,
                                              const std::string& key,
                                              const store::AdminClaim& stalled)
{
    store::AdminClaim mine = new_claim(call);
    bool keeps_id = !makes_secret(call);
    mine.earlier = stalled.earlier;
    if (makes_secret(call)) {
        mine.earlier.push_back(stalled.made);
        if (mine.earlier.size() > kMostEarlier) {
            mine.earlier.erase(mine.earlier.begin());
        }
    } else {
        mine.made = stalled.made;
    }
    bool taken =
        co_await store::replace_claim(store.links.main, key, stalled, mine);
    for (std::size_t i = mine.earlier.size(); taken && i-- > 0;) {
        const auto made =
            co_await store::find_optional(store.links, mine.earlier[i].id);
        if (made) {
            store::AdminClaim kept = mine;
            kept.made = mine.earlier[i];
            kept.earlier.resize(i);
            taken = co_await store::replace_claim(store.links.main, key, mine,
                                                  kept);
            mine = std::move(kept);
            keeps_id = true;
            break;
        }
    }
    if (!taken) {
        co_return std::nullopt;
    }
    co_return Claimed{std::move(mine), keeps_id};
}

// The claim of this attempt, or one that is done.
store::Task<Claimed> claim(const AdminCall& call, AdminStore& store,
                           const std::string& key)
{
    const store::AdminClaim mine = new_claim(call);
    std::string watched;
    store::Monotonic since = 0;
    for (;;) {
        const auto there =
            co_await store::claim_request(store.links.main, key, mine);
        if (!there) {
            co_return Claimed{mine};
        }
        if (there->request != mine.request) {
            throw reused();
        }
        if (there->status != 0) {
            co_return Claimed{*there};
        }
        const store::Monotonic now = store.clock.monotonic();
        if (there->attempt != watched) {
            watched = there->attempt;
            since = now;
        }
        if (now - since < kTakeOverAfter) {
            co_await Pause(store.pauses);
            continue;
        }
        auto taken = co_await take_over(call, store, key, *there);
        if (taken) {
            co_return std::move(*taken);
        }
    }
}

// What the object shows later must not contain the secret.
std::string without_secret(const std::string& object)
{
    const std::size_t secret = object.rfind(R"(,"key":")");
    return secret == std::string::npos ? object
                                       : object.substr(0, secret) + '}';
}

store::Task<> mark_done(AdminStore& store, const std::string& key,
                        const store::AdminClaim& mine,
                        const AdminResponse& response)
{
    store::AdminClaim done;
    done.request = mine.request;
    done.status = response.status;
    done.location = response.location;
    done.body = without_secret(response.body);
    // If not, another attempt has taken over, for the same object.
    co_await store::replace_claim(store.links.main, key, mine, done);
}

// After a request that changes nothing. False if another attempt has, or may
// have, taken over, and may change something.
store::Task<bool> forget(AdminStore& store, const std::string& key,
                         const store::AdminClaim& mine)
{
    try {
        co_return co_await store::remove_claim(store.links.main, key, mine);
    } catch (const store::Failed&) {
        co_return false;
    }
}

bool may_have_changed(const store::Failure& failure)
{
    return failure.refusal != store::Refusal::damaged
           && (failure.not_in_effect || failure.after_change);
}

AdminTask perform_once(const AdminCall& call, AdminStore& store)
{
    const std::string key =
        store.schema.admin_request(call.caller_account_id, call.once->key);
    const Claimed claimed = co_await claim(call, store, key);
    const store::AdminClaim& mine = claimed.claim;
    if (mine.status != 0) {
        co_return replayed(mine);
    }
    const Attempt attempt{mine.made, claimed.repeated, mine.earlier, key};
    std::optional<store::Failed> refused;
    AdminResponse response;
    try {
        response = co_await store::Nested(perform(call, store, attempt));
    } catch (store::Failed& failed) {
        // A repetition completes it.
        if (may_have_changed(failed.failure)
            || failed.failure.refusal == store::Refusal::overtaken) {
            failed.failure.not_in_effect = true;
            throw;
        }
        if (api::http_status(failed.failure.error.code) >= 500) {
            throw;
        }
        refused = std::move(failed);
    }
    if (refused) {
        const bool forgotten = co_await forget(store, key, mine);
        throw forgotten ? std::move(*refused) : overtaken();
    }
    try {
        co_await mark_done(store, key, mine, response);
    } catch (...) {
        store::rethrow_not_in_effect();
    }
    co_return response;
}

// --- failures ---------------------------------------------------------------

struct Refused {
    store::Refusal refusal;
    api::ErrorCode code;
    const char* message;  // nullptr: that of the store
};

constexpr Refused kRefusals[] = {
    {store::Refusal::not_found, api::ErrorCode::not_found,
     "There is no such key."},
    {store::Refusal::account_not_found, api::ErrorCode::not_found,
     "There is no such account."},
    {store::Refusal::plan_not_found, api::ErrorCode::not_found,
     "There is no such plan in Redis."},
    {store::Refusal::key_exists, api::ErrorCode::key_exists,
     "This key exists already."},
    {store::Refusal::already_rotated, api::ErrorCode::already_rotated,
     "The key was rotated before."},
    {store::Refusal::external_id_taken, api::ErrorCode::external_id_taken,
     "Another account has this external id."},
    {store::Refusal::account_in_use, api::ErrorCode::account_in_use,
     "The account has keys; delete these first."},
    {store::Refusal::plan_in_use, api::ErrorCode::plan_in_use,
     "A key or an account has this plan."},
    {store::Refusal::too_many_plans, api::ErrorCode::too_many_plans,
     "Redis has 1000 plans, which is the maximum."},
    {store::Refusal::expired, api::ErrorCode::bad_request,
     "The key has expired, so it cannot be rotated."},
    {store::Refusal::damaged, api::ErrorCode::internal_error, nullptr},
};

// Of concurrent changes of one key, one is overtaken by another.
store::Failure in_terms_of_api(store::Failure failure, api::Operation operation)
{
    if (may_have_changed(failure)) {
        failure.error = overtaken().failure.error;
        return failure;
    }
    if (failure.refusal == store::Refusal::overtaken) {
        failure.refusal = operation == api::Operation::rotate_key
                              ? store::Refusal::already_rotated
                              : store::Refusal::key_exists;
    }
    for (const Refused& row : kRefusals) {
        if (row.refusal == failure.refusal) {
            failure.error.code = row.code;
            if (row.message != nullptr) {
                failure.error.message = row.message;
            }
        }
    }
    return failure;
}

AdminTask answer_call(AdminCall call, AdminStore& store)
{
    try {
        if (!api::is_get(call.operation)) {
            co_await refuse_moved(store);
        }
        if (call.once) {
            co_return co_await perform_once(call, store);
        }
        Attempt attempt;
        attempt.made = {store::new_id(), store::new_id()};
        co_return co_await store::Nested(perform(call, store, attempt));
    } catch (store::Failed& failed) {
        failed.failure =
            in_terms_of_api(std::move(failed.failure), call.operation);
        throw;
    }
}

}  // namespace

void answer(AdminCall call, AdminStore& store, store::Operations& running,
            store::Waiter<AdminResponse>& waiter)
{
    store::run(running, answer_call(std::move(call), store), waiter);
}

}  // namespace petstore::service
