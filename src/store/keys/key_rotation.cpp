#include "key_rotation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "../../api/text.h"
#include "key_administration.h"
#include "key_tasks.h"

namespace petstore::store {

namespace {

std::string to_text(const StoredKey& key)
{
    return key.record.id + ':' + api::to_hex(api::bytes_of(key.digest));
}

bool is_claimed(const StoredKey& old, const StoredKey& next)
{
    return old.successors.substr(0, old.successors.find(' ')) == to_text(next);
}

// Another attempt has finished the rotation.
bool is_rotated(const StoredKey& old, const StoredKey& next)
{
    return old.record.replaced_by == next.record.id;
}

// Redis has an unfinished key as disabled, whatever its owner wants.
Task<std::optional<StoredKey>> find_old(const StoreLinks& links,
                                        const std::string& id)
{
    auto old = co_await find_optional(links, id);
    if (old && old->unfinished) {
        old->record.disabled = false;
    }
    co_return old;
}

Failed being_deleted(const std::string& id)
{
    return refused(Refusal::not_found, api::ErrorCode::not_found,
                   "the deletion of key " + id
                       + " has begun: delete it again, or enable it");
}

// Undoes a rotation that another one, or a deletion, has overtaken, which
// removes `next` if it is finished.
Task<> give_way(const StoreLinks& links, const std::string& id,
                const StoredKey& next)
{
    co_await discard_unfinished(links, next);
    const auto old = co_await find_optional(links, id);
    if (!old) {
        throw refused(Refusal::not_found, api::ErrorCode::not_found,
                      "key " + id + " was deleted by another command");
    }
    if (is_being_deleted(*old)) {
        throw being_deleted(id);
    }
    throw overtaken("key " + id + " was rotated or deleted by another command");
}

Task<> check_rotatable(const StoreLinks& links, const api::KeyRecord& old)
{
    if (!old.replaced_by.empty()) {
        // The other rotation may have been interrupted before its last step.
        co_await announce(links, old.account);
        const auto next = co_await read_index(links, old.replaced_by);
        throw refused(
            Refusal::already_rotated, api::ErrorCode::bad_request,
            "key " + old.id + " was rotated before"
                + (next
                       ? ": rotate key " + old.replaced_by
                             + ", which replaced it"
                       : ", and key " + old.replaced_by
                             + ", which replaced it, is deleted: create another key"));
    }
    if (old.expires) {
        const api::UnixTime now = co_await redis_time(links.accounts);
        if (*old.expires <= now) {
            throw refused(Refusal::expired, api::ErrorCode::bad_request,
                          "key " + old.id + " has expired");
        }
    }
}

// Changes `to` as the old key was changed since `copied` was copied from it.
// False if it was not.
bool carry_over(const api::KeyRecord& old, const api::KeyRecord& copied,
                api::KeyRecord& to)
{
    bool any = false;
    const auto carry = [&](auto member) {
        if (old.*member != copied.*member) {
            to.*member = old.*member;
            any = true;
        }
    };
    carry(&api::KeyRecord::disabled);
    carry(&api::KeyRecord::scopes);
    carry(&api::KeyRecord::further_scopes);
    carry(&api::KeyRecord::expires);
    carry(&api::KeyRecord::plan);
    carry(&api::KeyRecord::per_minute);
    carry(&api::KeyRecord::per_day);
    carry(&api::KeyRecord::per_month);
    carry(&api::KeyRecord::label);
    return any;
}

// The same in Redis, where another attempt or an operator may change `next`
// meanwhile. False if it was removed.
Task<bool> update_next(const StoreLinks& links, const api::KeyRecord& old,
                       const api::KeyRecord& copied, StoredKey& next)
{
    Rounds rounds;
    for (bool written = false; !written; rounds.next()) {
        auto there = co_await find_optional(links, next.digest);
        if (!there || there->record.id != next.record.id) {
            co_return false;
        }
        carry_over(old, copied, there->record);
        written = co_await write(links, *there, there->record.epoch);
        next = std::move(*there);
    }
    co_await announce(links, next.record.account);
    co_return true;
}

// What the key of an earlier attempt was copied from is not known, and an
// operator may have changed it since. What was written last counts, but it
// stays disabled.
api::KeyRecord assumed_copy(const api::KeyRecord& old,
                            const api::KeyRecord& next)
{
    api::KeyRecord copied = old.epoch > next.epoch ? next : old;
    copied.disabled = false;
    return copied;
}

}  // namespace

Task<std::optional<StoredKey>> begin_rotation(StoreLinks links, std::string id,
                                              StoredKey next,
                                              const Clock& clock,
                                              WatchedClaim& watched)
{
    next.record.disabled = false;  // in Redis it is, until it is finished
    const api::KeyRecord fresh = next.record;
    const bool again = !next.record.account.empty();  // stored before
    std::vector<Successor> overtaken;
    for (Rounds rounds;; rounds.next()) {
        auto found = co_await find_old(links, id);
        if (!found) {
            throw unknown_key();
        }
        StoredKey old = std::move(*found);
        if (again && is_rotated(old, next)) {
            co_return next;
        }
        if (again && is_claimed(old, next)) {
            next.record.disabled = old.record.disabled;
            break;
        }
        co_await check_rotatable(links, old.record);
        if (is_being_deleted(old)) {
            if (again) {
                co_await give_way(links, id, next);
            }
            throw being_deleted(id);
        }
        const Monotonic time = clock.monotonic();
        if (old.successors != watched.successors) {
            watched = {old.successors, time};
        }
        if (!old.successors.empty()
            && time - watched.since < WatchedClaim::kTakeOverAfter) {
            co_return std::nullopt;
        }
        next.record = old.record;
        next.record.id = fresh.id;
        next.record.created = fresh.created;
        next.record.last4 = fresh.last4;
        next.record.epoch = 0;
        overtaken = successors_of(old);
        enter_claim(old, to_text(next));
        const bool written = co_await write(links, old, old.record.epoch);
        if (written) {
            break;
        }
    }
    for (const Successor& other : overtaken) {
        co_await discard(links, other.id, other.digest);
    }
    const auto storing = again ? Storing::repeated : Storing::first;
    co_await store_unfinished(links, next, KeyOwner::unchanged, storing);
    // A rotation that takes over the claim after this point finds the new key
    // and removes it. An earlier one could not.
    const auto old = co_await find_optional(links, id);
    if (!old || !(is_claimed(*old, next) || is_rotated(*old, next))) {
        co_await give_way(links, id, next);
    }
    co_return next;
}

Task<api::KeyRecord> finish_rotation(StoreLinks links, std::string id,
                                     StoredKey& next, std::int64_t grace)
{
    // The new key must work before the old one expires. That of an earlier
    // attempt may do so already.
    std::optional<api::KeyRecord> copied;
    std::optional<WrittenEpoch> finished(std::in_place);
    if (next.unfinished) {
        copied = next.record;
        finished = co_await finish(links, next);
    }
    if (!finished) {
        co_await give_way(links, id, next);
    }
    for (Rounds rounds;; rounds.next()) {
        auto old = co_await find_old(links, id);
        if (old && is_rotated(*old, next)) {
            co_await announce(links, old->record.account);
            co_return std::move(old->record);
        }
        if (!old || !is_claimed(*old, next)) {
            co_await give_way(links, id, next);
        }
        if (!copied) {
            copied = assumed_copy(old->record, next.record);
        }
        api::KeyRecord now_copied = *copied;
        if (carry_over(old->record, *copied, now_copied)) {
            const bool updated =
                co_await update_next(links, old->record, *copied, next);
            if (!updated) {
                co_await give_way(links, id, next);
            }
            copied = std::move(now_copied);
        }
        const api::UnixTime now = co_await redis_time(links.accounts);
        api::KeyRecord& record = old->record;
        const api::UnixTime end = api::end_of(now, grace);
        record.expires = std::min(record.expires.value_or(end), end);
        record.replaced_by = next.record.id;
        old->successors.clear();
        const bool written = co_await write(links, *old, record.epoch);
        if (written) {
            co_await announce(links, next.record.account, *finished);
            co_return std::move(record);
        }
    }
}

Task<> abandon_rotation(StoreLinks links, std::string id, StoredKey next)
{
    co_await discard_unfinished(links, next);
    for (Rounds rounds;; rounds.next()) {
        auto old = co_await find_optional(links, id);
        if (!old || !is_claimed(*old, next)) {
            co_return;
        }
        old->successors.clear();
        const bool written = co_await write(links, *old, old->record.epoch);
        if (written) {
            co_return;
        }
    }
}

}  // namespace petstore::store
