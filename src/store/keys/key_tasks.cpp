#include "key_tasks.h"

#include <utility>

#include "../../api/text.h"

namespace petstore::store {

Task<std::optional<api::Digest>> read_index(const StoreLinks& links,
                                            const std::string& id)
{
    const std::string index = links.schema.key_index();
    redis::Command command("HGET");
    command.key(index).own(id);
    const redis::Reply& reply = co_await ask(links.main, std::move(command));
    const auto digest = api::digest_of_hex(reply.text());
    if (!digest && !reply.is(redis::Type::nil)) {
        throw damaged("the entry of key " + id + " in " + index
                      + " is damaged");
    }
    co_return digest;
}

Task<RecordFound> read_record(const StoreLinks& links, StoredKey& key)
{
    const redis::Reply& reply =
        co_await ask(links.main, KeyCommands(links.schema).read(key.digest));
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

Task<bool> write(const StoreLinks& links, StoredKey& key,
                 std::optional<std::int64_t> seen)
{
    const redis::Reply& reply = co_await stage_change(
        links.main, KeyCommands(links.schema).write(key, seen));
    if (reply.integer() <= 0) {
        co_return false;
    }
    key.record.epoch = reply.integer();
    co_return true;
}

Task<bool> write_and_announce(const StoreLinks& links, StoredKey& key)
{
    const std::string before = co_await epoch_before(links, key.record.account);
    const bool written = co_await write(links, key, key.record.epoch);
    if (written) {
        const WrittenEpoch epoch{key.record.epoch, before};
        co_await announce(links, key.record.account, epoch);
    }
    co_return written;
}

Task<> change_entry(const StoreLinks& links, const char* verb, std::string key,
                    std::string member, std::string value)
{
    redis::Command command(verb);
    command.key(key).own(member);
    if (!value.empty()) {
        command.own(value);
    }
    co_await change(links.main, std::move(command));
}

Task<bool> remove_unused(const StoreLinks& links, const std::string& account,
                         const std::string& except)
{
    try {
        co_return co_await remove_implicit_account(links, account, except);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::damaged) {
            throw;
        }
        co_return false;
    }
}

Task<> leave_account(const StoreLinks& links, const std::string& account,
                     const std::string& id)
{
    const bool removed = co_await remove_unused(links, account, id);
    co_await change_entry(links, "SREM", links.schema.account_keys(account), id,
                          "");
    if (!removed) {
        // Its last keys may be leaving at the same time: each saw the other.
        co_await remove_unused(links, account, no_key);
    }
}

namespace {

// The new key of a rotation may have been rotated, too. Longer chains are
// damage.
constexpr int kMostChained = 4;

// The claim of a deletion, before those of rotations: see key_rotation.h. It
// has the form of a successor, whose key does not exist.
constexpr std::string_view kDeletion = "deletion";
// In its place once the key is enabled again, so that no rotation takes the
// claim that follows for its own: its new key may be gone.
constexpr std::string_view kEnabled = "enabled";
constexpr api::Digest kNobody{};  // of both

std::string deletion_claim()
{
    return std::string(kDeletion) + ':' + api::to_hex(api::bytes_of(kNobody));
}

bool has_deletion_claim(const StoredKey& key)
{
    return key.successors.starts_with(deletion_claim());
}

}  // namespace

void enter_claim(StoredKey& key, std::string claim)
{
    if (!key.successors.empty()) {
        claim += ' ' + key.successors;
    }
    key.successors = std::move(claim);
}

bool is_being_deleted(const StoredKey& key)
{
    return (key.unfinished || key.record.disabled) && has_deletion_claim(key);
}

bool forget_deletion(StoredKey& key)
{
    if (!has_deletion_claim(key)) {
        return false;
    }
    if (key.successors == deletion_claim()) {
        key.successors.clear();
    } else {
        key.successors.replace(0, kDeletion.size(), kEnabled);
    }
    return true;
}

std::vector<Successor> successors_of(const StoredKey& key)
{
    auto all =
        parse_successors(key.successors).value_or(std::vector<Successor>());
    std::erase_if(all, [](const Successor& successor) {
        return successor.digest == kNobody;
    });
    return all;
}

namespace {

// Disables and claims the key, so that no rotation of it completes or begins
// any more. A record that is so already stays: a new epoch would stop another
// deletion, which would then stop this one. False if the record changed
// meanwhile.
Task<bool> disable_to_remove(const StoreLinks& links, StoredKey& key)
{
    if (is_being_deleted(key)) {
        co_await announce(links, key.record.account);
        co_return true;
    }
    key.record.disabled = true;
    if (!has_deletion_claim(key)) {
        enter_claim(key, deletion_claim());
    }
    co_return co_await write_and_announce(links, key);
}

Task<> discard_chained(const StoreLinks& links, const std::string& id,
                       const api::Digest& digest, int most_chained);

// False if the record changed meanwhile.
Task<bool> remove_record(const StoreLinks& links, const std::string& id,
                         const api::Digest& digest, int most_chained)
{
    StoredKey key(digest);
    const RecordFound found = co_await read_record(links, key);
    const api::KeyRecord& record = key.record;
    if (found == RecordFound::absent
        || (found == RecordFound::found && record.id != id)) {
        co_return true;  // no record, or another key's
    }
    if (found == RecordFound::invalid) {
        if (!record.account.empty()) {
            co_await announce(links, record.account);
            co_await leave_account(links, record.account, id);
        }
        redis::Command command("DEL");
        command.key(links.schema.key_record(digest));
        co_await change(links.main, std::move(command));
        co_return true;
    }
    const auto successors = successors_of(key);
    const bool disabled = co_await disable_to_remove(links, key);
    if (!disabled) {
        co_return false;
    }
    for (std::size_t i = 0; i < successors.size() && most_chained > 0; ++i) {
        co_await discard_chained(links, successors[i].id, successors[i].digest,
                                 most_chained - 1);
    }
    // Before the record, which names the account if this is repeated.
    co_await leave_account(links, record.account, id);
    const redis::Reply& reply =
        co_await change(links.main, KeyCommands(links.schema).remove(key));
    co_return reply.integer() == 1;
}

Task<> discard_chained(const StoreLinks& links, const std::string& id,
                       const api::Digest& digest, int most_chained)
{
    Rounds rounds;
    for (bool removed = false; !removed; rounds.next()) {
        removed = co_await remove_record(links, id, digest, most_chained);
    }
    co_await change_entry(links, "HDEL", links.schema.key_index(), id, "");
}

}  // namespace

Task<> discard(const StoreLinks& links, const std::string& id,
               const api::Digest& digest)
{
    return discard_chained(links, id, digest, kMostChained);
}

Task<bool> discard_unfinished(const StoreLinks& links, const StoredKey& key)
{
    Rounds rounds;
    bool removed = false;
    for (; !removed; rounds.next()) {
        StoredKey there(key.digest);
        const RecordFound found = co_await read_record(links, there);
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
            links.main, KeyCommands(links.schema).remove(there));
        removed = reply.integer() == 1;
        if (removed) {
            // Only now is it certain that nobody finishes the key.
            co_await leave_account(links, there.record.account, key.record.id);
        }
    }
    co_await remove_entries(links, key);
    co_return removed;
}

}  // namespace petstore::store
