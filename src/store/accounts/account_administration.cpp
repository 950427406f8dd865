#include "account_administration.h"

#include <utility>

#include "../../api/key.h"
#include "../keys/key_tasks.h"
#include "../scripts.h"
#include "account_tasks.h"
#include "external_id_tasks.h"

namespace petstore::store {

namespace {

Task<api::UnixTime> read_time(KeyServers servers)
{
    const api::Millis now = co_await redis_time(servers.accounts);
    co_return now / 1000;
}

Task<bool> end_ban(KeyServers servers, std::string account)
{
    redis::Command command(scripts().unban, 3);
    command.key(servers.schema.account_state(account))
        .key(servers.schema.strikes(account))
        .key(servers.schema.bans(account));
    const redis::Reply& reply =
        co_await stage_change(servers.accounts, std::move(command));
    const bool was_banned = reply.integer() == 1;
    co_await announce(servers, account);
    co_return was_banned;
}

Task<api::AccountRecord> find_one_account(KeyServers servers, AccountName name)
{
    co_return co_await find_account(servers, name);
}

Task<KeyListing> list_keys_of_account(KeyServers servers, AccountName name)
{
    const auto account = co_await find_account(servers, name);
    co_return co_await list_keys_of(servers, account.id);
}

// An account that has lost its external id to another one must not show it.
Task<> return_external_id(const KeyServers& servers, const std::string& id,
                          const std::string& lost, const std::string& before)
{
    for (bool written = false; !written;) {
        auto account = co_await read_account(servers, id);
        if (!account || account->external_id != lost) {
            co_return;
        }
        account->external_id = before;
        written = co_await write_account(servers, *account, account->epoch);
    }
    co_await announce(servers, id);
}

// Gives the account another external id, and changes nothing else: if this is
// refused, nothing has changed. Nothing happens if another write was faster.
Task<> take_external_id(const KeyServers& servers, api::AccountRecord account,
                        const std::string& external_id)
{
    const std::string before = std::exchange(account.external_id, external_id);
    co_await claim(servers, external_id, account.id);
    const bool written =
        co_await write_account(servers, account, account.epoch);
    if (!written) {
        co_return;
    }
    const bool owned =
        co_await owns_external_id(servers, external_id, account.id);
    if (!owned) {
        co_await return_external_id(servers, account.id, external_id, before);
        throw external_id_taken();
    }
    co_await announce(servers, account.id);
    if (!before.empty()) {
        co_await release(servers, before, account.id);
    }
}

Task<api::AccountRecord> update_account(KeyServers servers, AccountName name,
                                        AccountAdministration::Change change)
{
    for (;;) {
        const auto account = co_await find_account(servers, name);
        name.id = account.id;  // its external id may change meanwhile
        api::AccountRecord changed = account;
        if (auto failure = change(changed)) {
            throw invalid(std::move(*failure));
        }
        if (!changed.external_id.empty()) {
            if (changed.external_id != account.external_id) {
                co_await take_external_id(servers, account,
                                          changed.external_id);
                continue;
            }
            // An interrupted change may have left it to another account.
            const bool owned = co_await owns_external_id(
                servers, account.external_id, account.id);
            if (!owned) {
                co_await return_external_id(servers, account.id,
                                            account.external_id, "");
                continue;
            }
        }
        const bool written =
            co_await write_account(servers, changed, account.epoch);
        if (!written) {
            continue;
        }
        co_await announce(servers, account.id);
        if (changed.external_id.empty() && !account.external_id.empty()) {
            co_await release(servers, account.external_id, account.id);
        }
        co_return changed;
    }
}

Task<> delete_account(KeyServers servers, AccountName name)
{
    if (api::is_id(name.id)) {
        const auto there = co_await read_account(servers, name.id);
        if (there && there->deleted != 0) {
            // Its deletion may have been interrupted.
            co_await remove_account(servers, name.id);
        }
    }
    const auto account = co_await find_account(servers, name);
    const bool removed = co_await remove_account(servers, account.id);
    if (!removed) {
        throw refused(Refusal::account_in_use, api::ErrorCode::bad_request,
                      "account " + account.id + " has keys");
    }
}

Task<> reset_account(KeyServers servers, AccountName name)
{
    const auto account = co_await find_account(servers, name);
    co_await settle_usage(servers, account.id, true);
    co_await announce(servers, account.id);
}

}  // namespace

void AccountAdministration::create(api::AccountRecord account,
                                   Waiter<api::AccountRecord>& waiter)
{
    run(running_, create_account(servers_, std::move(account)), waiter);
}

void AccountAdministration::find(AccountName name,
                                 Waiter<api::AccountRecord>& waiter)
{
    run(running_, find_one_account(servers_, std::move(name)), waiter);
}

void AccountAdministration::list(bool with_deleted,
                                 Waiter<AccountListing>& waiter)
{
    run(running_, list_accounts(servers_, with_deleted), waiter);
}

void AccountAdministration::keys_of(AccountName name,
                                    Waiter<KeyListing>& waiter)
{
    run(running_, list_keys_of_account(servers_, std::move(name)), waiter);
}

void AccountAdministration::update(AccountName name, Change change,
                                   Waiter<api::AccountRecord>& waiter)
{
    run(running_, update_account(servers_, std::move(name), std::move(change)),
        waiter);
}

void AccountAdministration::remove(AccountName name, Waiter<Done>& waiter)
{
    run(running_, delete_account(servers_, std::move(name)), waiter);
}

void AccountAdministration::reset(AccountName name, Waiter<Done>& waiter)
{
    run(running_, reset_account(servers_, std::move(name)), waiter);
}

void AccountAdministration::now(Waiter<api::UnixTime>& waiter)
{
    run(running_, read_time(servers_), waiter);
}

void AccountAdministration::unban(std::string account, Waiter<bool>& waiter)
{
    run(running_, end_ban(servers_, std::move(account)), waiter);
}

}  // namespace petstore::store
