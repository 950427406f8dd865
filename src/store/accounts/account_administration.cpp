#include "account_administration.h"

#include <utility>

#include "../scripts.h"
#include "account_state.h"
#include "account_tasks.h"

namespace petstore::store {

namespace {

Task<api::UnixTime> read_time(KeyServers servers)
{
    const api::Millis now = co_await redis_time(servers);
    co_return now / 1000;
}

Task<std::int64_t> read_number(const KeyServers& servers, std::string key)
{
    const redis::Reply& reply =
        co_await ask(servers.accounts, get_command(key));
    co_return number_of(reply);
}

Task<AccountUsage> read_usage(KeyServers servers, std::string account)
{
    AccountUsage usage;
    usage.strikes =
        co_await read_number(servers, servers.schema.strikes(account));
    usage.bans = co_await read_number(servers, servers.schema.bans(account));
    const api::Millis now = co_await redis_time(servers);
    const redis::Reply& reply = co_await ask(
        servers.accounts, get_command(servers.schema.account_state(account)));
    if (reply.is(redis::Type::nil)) {
        co_return usage;
    }
    const auto state = AccountState::decode(reply.text());
    if (!state) {
        throw damaged("the state of account " + account + " is damaged");
    }
    if (state->minute_end > now) {
        usage.minute = {state->minute_used, state->minute_end};
    }
    if (state->day_end > now) {
        usage.day = {state->day_used, state->day_end};
    }
    if (state->ban_until > now) {
        usage.banned_until = state->ban_until;
    }
    co_return usage;
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
    co_await announce(servers, account, 0);
    co_return was_banned;
}

}  // namespace

void AccountAdministration::now(Waiter<api::UnixTime>& waiter)
{
    run(running_, read_time(servers_), waiter);
}

void AccountAdministration::usage(std::string account,
                                  Waiter<AccountUsage>& waiter)
{
    run(running_, read_usage(servers_, std::move(account)), waiter);
}

void AccountAdministration::unban(std::string account, Waiter<bool>& waiter)
{
    run(running_, end_ban(servers_, std::move(account)), waiter);
}

}  // namespace petstore::store
