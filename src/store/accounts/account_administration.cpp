#include "account_administration.h"

#include <utility>

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
    redis::Command command(scripts::unban(), 3);
    command.key(servers.schema.account_state(account))
        .key(servers.schema.strikes(account))
        .key(servers.schema.bans(account));
    const redis::Reply& reply =
        co_await change_first(servers.accounts, std::move(command));
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

Task<api::AccountRecord> update_account(KeyServers servers, AccountName name,
                                        AccountAdministration::Change change)
{
    for (;;) {
        auto account = co_await find_account(servers, name);
        name.id = account.id;  // its external id may change meanwhile
        const std::string before = account.external_id;
        if (auto failure = change(account)) {
            throw Failed{std::move(*failure)};
        }
        account.implicit = false;
        const bool claims =
            account.external_id != before && !account.external_id.empty();
        if (claims) {
            co_await claim(servers, account.external_id, account.id);
        }
        const bool written =
            co_await write_account(servers, account, account.epoch);
        if (!written) {
            continue;
        }
        if (claims) {
            const bool confirmed =
                co_await is_confirmed(servers, account.external_id, account.id);
            if (!confirmed) {
                account.external_id = before;
                co_await write_account(servers, account, account.epoch);
                throw external_id_taken();
            }
        }
        co_await announce(servers, account.id);
        if (account.external_id != before && !before.empty()) {
            co_await release(servers, before, account.id);
        }
        co_return account;
    }
}

Task<> delete_account(KeyServers servers, AccountName name)
{
    const auto account = co_await find_account(servers, name);
    const bool removed =
        co_await remove_account(servers, account.id, "", false);
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
