#include "account_index_tasks.h"

#include <optional>
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

// Removes an entry, unless it has changed or there is a record: then false. An
// account that is being created, as by a restore, has an entry before it has a
// record, but that entry says nothing of a deletion.
Task<bool> forget_account(const StoreLinks& links, const std::string& id,
                          const std::string& entry)
{
    const auto account = co_await read_account(links, id);
    if (account) {
        co_return false;
    }
    redis::Command command(scripts().forget_account, 1);
    command.key(links.schema.account_index()).own(id).own(entry);
    const redis::Reply& reply = co_await change(links.main, std::move(command));
    co_return reply.integer() == 1;
}

Task<> forget_accounts(const StoreLinks& links,
                       const std::map<std::string, std::string>& entries)
{
    api::UnixTime now = 0;
    for (const auto& each : entries) {
        const api::UnixTime deleted = deleted_in_index(each.second);
        if (deleted == 0 || !api::is_id(each.first)) {
            continue;
        }
        if (now == 0) {
            now = co_await redis_time(links.accounts);
        }
        if (deleted < now - kForgottenAfter) {
            co_await forget_account(links, each.first, each.second);
        }
    }
}

}  // namespace

Task<> index_account(const StoreLinks& links, const api::AccountRecord& account)
{
    redis::Command command("HSET");
    command.key(links.schema.account_index())
        .own(account.id)
        .own(entry_of(account));
    co_await change(links.main, std::move(command));
}

namespace {

// nullopt if there is none.
Task<std::optional<std::string>> read_entry(const StoreLinks& links,
                                            const std::string& id)
{
    redis::Command command("HGET");
    command.key(links.schema.account_index()).own(id);
    const redis::Reply& reply = co_await ask(links.main, std::move(command));
    std::optional<std::string> entry;
    if (!reply.is(redis::Type::nil)) {
        entry.emplace(reply.text());
    }
    co_return entry;
}

}  // namespace

Task<bool> is_deleted_in_index(const StoreLinks& links, const std::string& id)
{
    const auto entry = co_await read_entry(links, id);
    co_return entry.has_value() && deleted_in_index(*entry) != 0;
}

Task<bool> lacks_record(const StoreLinks& links, const std::string& id)
{
    const auto entry = co_await read_entry(links, id);
    if (!entry || deleted_in_index(*entry) != 0) {
        co_return false;
    }
    // A new account is listed first, so it may have its record by now.
    const auto account = co_await read_account(links, id);
    co_return !account.has_value();
}

Task<bool> remove_entry_without_record(const StoreLinks& links,
                                       const std::string& id)
{
    const auto entry = co_await read_entry(links, id);
    if (!entry || deleted_in_index(*entry) != 0) {
        co_return false;
    }
    co_return co_await forget_account(links, id, *entry);
}

api::UnixTime created_in_index(const std::string& entry) noexcept
{
    return api::parse_int64(std::string_view(entry).substr(0, entry.find(' ')))
        .value_or(0);
}

Task<> forget_unused_account(const StoreLinks& links, const std::string& id,
                             api::UnixTime created)
{
    const AccountCommands commands(links.schema);
    const redis::Reply& reply = co_await ask(links.main, commands.read(id));
    const auto there = AccountCommands::parse(reply, id);
    const api::AccountRecord& account = there.record;
    if (there.result != RecordFound::found || account.deleted == 0
        || !account.implicit || account.created != created) {
        co_return;
    }
    redis::Command remove(scripts().delete_record, 1);
    remove.key(commands.name(id)).arg(account.epoch);
    const redis::Reply& removed =
        co_await change(links.main, std::move(remove));
    if (removed.integer() == 1) {
        co_await forget_account(links, id, entry_of(account));
    }
}

Task<>
forget_expired_accounts(const StoreLinks& links,
                        const std::map<std::string, std::string>& entries)
{
    try {
        co_await forget_accounts(links, entries);
    } catch (const Failed&) {
    }
}

}  // namespace petstore::store
