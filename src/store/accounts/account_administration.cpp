#include "account_administration.h"

#include <exception>
#include <utility>
#include <vector>

#include "../../api/key.h"
#include "../keys/key_administration.h"
#include "../scripts.h"
#include "account_index_tasks.h"
#include "account_tasks.h"
#include "external_id_tasks.h"

namespace petstore::store {

namespace {

// An account that has lost its external id to another one must not show it. Nor
// may it get back the one `before` if that is another account's by now.
Task<> return_external_id(const StoreLinks& links, const std::string& id,
                          const std::string& lost, const std::string& before)
{
    Rounds rounds;
    for (bool written = false; !written; rounds.next()) {
        auto account = co_await read_account(links, id);
        if (!account || account->external_id != lost) {
            co_return;
        }
        account->external_id = before;
        written = co_await write_account(links, *account, account->epoch);
    }
    co_await announce(links, id);
    if (!before.empty()) {
        const bool owned = co_await confirm_external_id(links, before, id);
        if (!owned) {
            co_await return_external_id(links, id, before, "");
        }
    }
}

// Undoes take_external_id() for a change that is refused after all. If another
// account has the former one by now, this one keeps the new one.
Task<> give_back(const StoreLinks& links, const std::string& id,
                 const std::string& taken, const std::string& former)
{
    bool is_free = true;
    if (!former.empty()) {
        is_free = co_await confirm_external_id(links, former, id);
    }
    if (is_free) {
        co_await return_external_id(links, id, taken, former);
    }
}

// Gives the account another external id, and changes nothing else: if this is
// refused, nothing has changed. False if another write was faster; then nothing
// happens. The claim of the former one stays, so that it still finds the
// account if the rest of the change is interrupted.
Task<bool> take_external_id(const StoreLinks& links, api::AccountRecord account,
                            const std::string& external_id)
{
    const std::string before = std::exchange(account.external_id, external_id);
    co_await claim_external_id(links, external_id, account.id);
    const bool written = co_await write_account(links, account, account.epoch);
    if (!written) {
        co_return false;
    }
    const bool owned =
        co_await confirm_external_id(links, external_id, account.id);
    if (!owned) {
        co_await return_external_id(links, account.id, external_id, before);
        throw external_id_taken();
    }
    co_await announce(links, account.id);
    co_return true;
}

// The account as `change` makes it. If that refuses, gives back the external id
// that the operation has `taken`, since another change made meanwhile may be
// the reason.
Task<api::AccountRecord> apply_change(const StoreLinks& links,
                                      const api::AccountRecord& account,
                                      const AccountChange& change,
                                      const std::string& taken,
                                      const std::vector<std::string>& former)
{
    api::AccountRecord changed = account;
    std::exception_ptr refused;
    try {
        change(changed);
    } catch (...) {
        refused = std::current_exception();
    }
    if (refused) {
        if (!taken.empty()) {
            co_await give_back(links, account.id, taken, former.back());
        }
        std::rethrow_exception(refused);
    }
    if (!taken.empty()) {
        // Another change's, if that was written since. Taking it again could go
        // on forever, as the other one may do the same.
        changed.external_id = account.external_id;
    }
    co_return changed;
}

// Frees the external ids that the account had and no longer has.
Task<> release_former(const StoreLinks& links,
                      const std::vector<std::string>& former,
                      const api::AccountRecord& account)
{
    for (const std::string& each : former) {
        if (!each.empty() && each != account.external_id) {
            co_await release_external_id(links, each, account.id);
        }
    }
}

// Also by the external id that an interrupted run of the same change has
// replaced or removed. Only a change that replaces this one by what the account
// has now may find it so: anybody else means another account.
Task<api::AccountRecord> find_to_change(const StoreLinks& links,
                                        const AccountName& name,
                                        const AccountChange& change)
{
    if (!name.id.empty()) {
        co_return co_await find_account(links, name);
    }
    const std::string id = co_await read_claim(links, name.external_id);
    if (id.empty()) {
        throw account_not_found();
    }
    auto account = co_await read_account(links, id);
    if (!account || account->deleted != 0) {
        throw account_not_found();
    }
    if (account->external_id != name.external_id) {
        api::AccountRecord again = *account;
        again.external_id = name.external_id;
        change(again);
        if (again.external_id != account->external_id) {
            throw account_not_found();
        }
    }
    co_return std::move(*account);
}

Failed account_in_use(const std::string& id)
{
    return refused(Refusal::account_in_use, api::ErrorCode::bad_request,
                   "account " + id + " has keys");
}

// Whether nothing refers to a deleted account any more.
Task<bool> is_removed(const StoreLinks& links,
                      const api::AccountRecord& account)
{
    if (!account.external_id.empty()) {
        const std::string owner =
            co_await read_claim(links, account.external_id);
        if (owner == account.id) {
            co_return false;
        }
    }
    co_return co_await is_deleted_in_index(links, account.id);
}

// Completes a deletion that was interrupted, or removes an entry of the index
// that has no record. False if there was neither.
Task<bool> complete_deletion(const StoreLinks& links, const AccountName& name)
{
    std::string id = name.id;
    if (id.empty()) {
        id = co_await read_claim(links, name.external_id);
    }
    if (!api::is_id(id)) {
        co_return false;
    }
    const auto there = co_await read_account(links, id);
    if (!there) {
        const bool used = co_await has_keys(links, id);
        if (used) {
            throw account_in_use(id);
        }
        co_return co_await remove_entry_without_record(links, id);
    }
    if (there->deleted == 0
        || (name.id.empty() && there->external_id != name.external_id)) {
        co_return false;
    }
    const bool was_complete = co_await is_removed(links, *there);
    co_await remove_account(links, id);
    co_return !was_complete;
}

}  // namespace

Task<api::AccountRecord> create_account(StoreLinks links,
                                        api::AccountRecord account)
{
    const std::string external_id = account.external_id;
    if (!external_id.empty()) {
        co_await claim_external_id(links, external_id, account.id);
    }
    const bool added = co_await add_account(links, account);
    if (added && !external_id.empty()) {
        const bool owned =
            co_await confirm_external_id(links, external_id, account.id);
        if (!owned) {
            co_await remove_account(links, account.id);
            throw external_id_taken();
        }
    }
    const AccountName name{account.id, {}};
    co_return co_await find_account(links, name);
}

Task<bool> restore_account(StoreLinks links, api::AccountRecord account)
{
    auto there = co_await read_account(links, account.id);
    const bool exists = there && there->deleted == 0;
    if (exists) {
        account = std::move(*there);
    }
    co_await create_account(links, account);
    co_return !exists;
}

Task<api::AccountRecord> find_account(StoreLinks links, AccountName name)
{
    std::string id = name.id;
    if (id.empty()) {
        id = co_await read_claim(links, name.external_id);
    }
    if (!api::is_id(id)) {
        throw account_not_found();
    }
    auto account = co_await read_account(links, id);
    if (!account || account->deleted != 0
        || (name.id.empty() && account->external_id != name.external_id)) {
        throw account_not_found();
    }
    co_return std::move(*account);
}

Task<KeyListing> list_keys_of_account(StoreLinks links, AccountName name)
{
    const auto account = co_await find_account(links, name);
    co_return co_await list_keys_of(links, account.id);
}

Task<api::AccountRecord> update_account(StoreLinks links, AccountName name,
                                        AccountChange change)
{
    std::vector<std::string> former;  // external ids
    std::string taken;                // the new one
    for (Rounds rounds;; rounds.next()) {
        const auto account = co_await find_to_change(links, name, change);
        if (name.id.empty()) {
            name.id = account.id;  // its external id may change meanwhile
            former.push_back(name.external_id);
        }
        auto changed =
            co_await apply_change(links, account, change, taken, former);
        if (!changed.external_id.empty()) {
            if (changed.external_id != account.external_id) {
                former.push_back(account.external_id);
                const bool is_taken = co_await take_external_id(
                    links, account, changed.external_id);
                if (is_taken) {
                    taken = changed.external_id;
                }
                continue;
            }
            // An interrupted change may have left it to another account.
            const bool owned = co_await confirm_external_id(
                links, account.external_id, account.id);
            if (!owned) {
                co_await return_external_id(links, account.id,
                                            account.external_id, "");
                continue;
            }
        }
        const bool written =
            co_await write_account(links, changed, account.epoch);
        if (!written) {
            continue;
        }
        co_await announce(links, account.id);
        former.push_back(account.external_id);
        co_await release_former(links, former, changed);
        co_return changed;
    }
}

Task<> delete_account(StoreLinks links, AccountName name)
{
    const bool completed = co_await complete_deletion(links, name);
    if (completed) {
        co_return;
    }
    const auto account = co_await find_account(links, name);
    const bool removed = co_await remove_account(links, account.id);
    if (!removed) {
        throw account_in_use(account.id);
    }
}

Task<> reset_account(StoreLinks links, AccountName name)
{
    const auto account = co_await find_account(links, name);
    co_await settle_usage(links, account.id, Windows::empty);
    co_await announce(links, account.id);
}

Task<bool> unban_account(StoreLinks links, std::string account)
{
    redis::Command command(scripts().unban, 3);
    command.key(links.schema.account_state(account))
        .key(links.schema.strikes(account))
        .key(links.schema.bans(account));
    const redis::Reply& reply =
        co_await stage_change(links.accounts, std::move(command));
    const bool was_banned = reply.integer() == 1;
    co_await announce(links, account);
    co_return was_banned;
}

}  // namespace petstore::store
