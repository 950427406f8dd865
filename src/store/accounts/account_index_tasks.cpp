#include "account_index_tasks.h"

#include <string_view>
#include <utility>

#include "../../api/text.h"
#include "../../api/usage.h"
#include "../scripts.h"
#include "account_commands.h"
#include "account_tasks.h"

namespace petstore::store {

namespace {

// One day longer than a deleted account's record, because its expiry and the
// deletion use different servers' clocks.
constexpr api::UnixTime kForgottenAfter =
    (api::kUsageKeptOfDay + 1) * api::kDaySeconds;

// 0 if the account was not deleted.
api::UnixTime deleted_in_index(const std::string& entry) noexcept
{
    const std::size_t space = entry.find(' ');
    return space == std::string::npos
               ? 0
               : api::parse_int64(std::string_view(entry).substr(space + 1))
                     .value_or(0);
}

std::string entry_of(const api::AccountRecord& account)
{
    std::string entry = std::to_string(account.created);
    if (account.deleted != 0) {
        entry += ' ' + std::to_string(account.deleted);
    }
    return entry;
}

// An account that is being created, as by a restore, has an entry before it has
// a record. That entry says nothing of a deletion, so it is not removed here.
Task<> forget_account(const KeyServers& servers, const std::string& id,
                      const std::string& entry)
{
    const auto account = co_await read_account(servers, id);
    if (account) {
        co_return;
    }
    redis::Command command(scripts().forget_account, 1);
    command.key(servers.schema.account_index()).own(id).own(entry);
    co_await change(servers.keys, std::move(command));
}

Task<> forget_accounts(const KeyServers& servers,
                       const std::map<std::string, std::string>& entries)
{
    api::UnixTime now = 0;
    for (const auto& each : entries) {
        const api::UnixTime deleted = deleted_in_index(each.second);
        if (deleted == 0 || !api::is_id(each.first)) {
            continue;
        }
        if (now == 0) {
            now = co_await redis_time(servers.accounts);
        }
        if (deleted < now - kForgottenAfter) {
            co_await forget_account(servers, each.first, each.second);
        }
    }
}

}  // namespace

Task<> index_account(const KeyServers& servers,
                     const api::AccountRecord& account)
{
    redis::Command command("HSET");
    command.key(servers.schema.account_index())
        .own(account.id)
        .own(entry_of(account));
    co_await change(servers.keys, std::move(command));
}

Task<bool> is_deleted_in_index(const KeyServers& servers, const std::string& id)
{
    redis::Command command("HGET");
    command.key(servers.schema.account_index()).own(id);
    const redis::Reply& entry = co_await ask(servers.keys, std::move(command));
    co_return deleted_in_index(std::string(entry.text())) != 0;
}

api::UnixTime created_in_index(const std::string& entry) noexcept
{
    return api::parse_int64(std::string_view(entry).substr(0, entry.find(' ')))
        .value_or(0);
}

Task<> forget_unused_account(const KeyServers& servers, const std::string& id)
{
    const AccountCommands commands(servers.schema);
    const redis::Reply& reply = co_await ask(servers.keys, commands.read(id));
    const auto there = AccountCommands::parse(reply, id);
    const api::AccountRecord& account = there.record;
    if (there.result != RecordFound::found || account.deleted == 0
        || !account.implicit) {
        co_return;
    }
    redis::Command remove(scripts().delete_record, 1);
    remove.key(commands.name(id)).arg(account.epoch);
    const redis::Reply& removed =
        co_await change(servers.keys, std::move(remove));
    if (removed.integer() == 1) {
        co_await forget_account(servers, id, entry_of(account));
    }
}

Task<>
forget_expired_accounts(const KeyServers& servers,
                        const std::map<std::string, std::string>& entries)
{
    try {
        co_await forget_accounts(servers, entries);
    } catch (const Failed&) {
    }
}

}  // namespace petstore::store
