#include "key_tasks.h"

#include <utility>

#include "../../api/text.h"

namespace petstore::store {

Task<std::optional<api::Digest>> read_index(const KeyServers& servers,
                                            const std::string& id)
{
    const std::string index = servers.schema.key_index();
    redis::Command command("HGET");
    command.key(index).own(id);
    const redis::Reply& reply = co_await ask(servers.keys, std::move(command));
    const auto digest = api::digest_of_hex(reply.text());
    if (!digest && !reply.is(redis::Type::nil)) {
        throw damaged("the entry of key " + id + " in " + index
                      + " is damaged");
    }
    co_return digest;
}

Task<RecordFound> read_record(const KeyServers& servers, StoredKey& key)
{
    const redis::Reply& reply = co_await ask(
        servers.keys, KeyCommands(servers.schema).read(key.digest));
    co_return KeyCommands::parse(reply, key);
}

// The argument may be an API key, so the message does not repeat it.
Failed unknown_key()
{
    return refused(Refusal::not_found, api::ErrorCode::not_found,
                   "there is no key with this id");
}

Failed key_exists(std::string message)
{
    return refused(Refusal::key_exists, api::ErrorCode::bad_request,
                   std::move(message));
}

Failed overtaken(std::string message)
{
    return refused(Refusal::overtaken, api::ErrorCode::bad_request,
                   std::move(message));
}

Task<bool> write(const KeyServers& servers, StoredKey& key,
                 std::optional<std::int64_t> seen)
{
    const redis::Reply& reply = co_await stage_change(
        servers.keys, KeyCommands(servers.schema).write(key, seen));
    if (reply.integer() <= 0) {
        co_return false;
    }
    key.record.epoch = reply.integer();
    co_return true;
}

Task<bool> write_and_announce(const KeyServers& servers, StoredKey& key)
{
    const std::string before =
        co_await epoch_before(servers, key.record.account);
    const bool written = co_await write(servers, key, key.record.epoch);
    if (written) {
        const WrittenEpoch epoch{key.record.epoch, before};
        co_await announce(servers, key.record.account, epoch);
    }
    co_return written;
}

Task<> change_entry(const KeyServers& servers, const char* verb,
                    std::string key, std::string member, std::string value)
{
    redis::Command command(verb);
    command.key(key).own(member);
    if (!value.empty()) {
        command.own(value);
    }
    co_await change(servers.keys, std::move(command));
}

namespace {

// Removes the account if it came into being with a key and has none but
// `except`. A damaged account stays. False if it stays.
Task<bool> remove_unused(const KeyServers& servers, const std::string& account,
                         const std::string& except)
{
    try {
        co_return co_await remove_implicit_account(servers, account, except);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
        co_return false;
    }
}

}  // namespace

Task<> leave_account(const KeyServers& servers, const std::string& account,
                     const std::string& id)
{
    const bool removed = co_await remove_unused(servers, account, id);
    co_await change_entry(servers, "SREM", servers.schema.account_keys(account),
                          id, "");
    if (!removed) {
        // Its last keys may be leaving at the same time: each saw the other.
        co_await remove_unused(servers, account, "");
    }
}

namespace {

// False if the record changed meanwhile.
Task<bool> remove_record(const KeyServers& servers, const std::string& id,
                         const api::Digest& digest)
{
    StoredKey key(digest);
    const RecordFound found = co_await read_record(servers, key);
    const api::KeyRecord& record = key.record;
    if (found == RecordFound::absent
        || (found == RecordFound::found && record.id != id)) {
        co_return true;  // no record, or another key's
    }
    if (found == RecordFound::invalid) {
        if (!record.account.empty()) {
            co_await announce(servers, record.account);
            co_await leave_account(servers, record.account, id);
        }
        redis::Command command("DEL");
        command.key(servers.schema.key_record(digest));
        co_await change(servers.keys, std::move(command));
        co_return true;
    }
    key.record.disabled = true;
    const bool written = co_await write_and_announce(servers, key);
    if (!written) {
        co_return false;
    }
    // Before the record, which names the account if this is repeated.
    co_await leave_account(servers, record.account, id);
    const redis::Reply& reply =
        co_await change(servers.keys, KeyCommands(servers.schema).remove(key));
    co_return reply.integer() == 1;
}

}  // namespace

Task<> discard(const KeyServers& servers, const std::string& id,
               const api::Digest& digest)
{
    for (bool removed = false; !removed;) {
        removed = co_await remove_record(servers, id, digest);
    }
    co_await change_entry(servers, "HDEL", servers.schema.key_index(), id, "");
}

Task<bool> discard_unfinished(const KeyServers& servers, const StoredKey& key)
{
    bool removed = false;
    while (!removed) {
        StoredKey there(key.digest);
        const RecordFound found = co_await read_record(servers, there);
        if (found == RecordFound::invalid) {
            co_return false;
        }
        if (found == RecordFound::absent || there.record.id != key.record.id) {
            break;
        }
        if (!there.unfinished) {
            co_return false;
        }
        const redis::Reply& reply = co_await change(
            servers.keys, KeyCommands(servers.schema).remove(there));
        removed = reply.integer() == 1;
        if (removed) {
            // Only now is it certain that nobody finishes the key.
            co_await leave_account(servers, there.record.account,
                                   key.record.id);
        }
    }
    co_await change_entry(servers, "HDEL", servers.schema.key_index(),
                          key.record.id, "");
    co_return removed;
}

}  // namespace petstore::store
