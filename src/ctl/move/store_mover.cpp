#include "store_mover.h"

#include <algorithm>

#include "../../api/text.h"
#include "../../store/random.h"
#include "../../store/scripts.h"
#include "../accounts/limits_marker.h"
#include "../accounts/store_format.h"
#include "../exit.h"
#include "account_mover.h"

namespace petstore::ctl {

namespace {

using Place = LimitsMarker::Place;

constexpr std::size_t kKeysAtOnce = 128;

}  // namespace

StoreMover::Moved StoreMover::run()
{
    Moved moved;
    if (!begin()) {
        return moved;
    }
    wait_for_workers();
    empty_destination();
    moved.accounts = AccountMover(source_, destination_, schema_).run();

    redis::Command freeze(store::scripts().freeze_catalogue, 1);
    const std::string last(source_.run(freeze.key(schema_.pet_count())).text());
    moved.pets = api::parse_int64(last).value_or(0);
    const Content content = find(source_);
    copy(content.catalogue);
    if (moved.pets != 0) {
        destination_.call(
            redis::Command("SET").key(schema_.pet_count()).arg(last));
    }

    copy(content.records);
    copy_index(schema_.key_index());
    copy_index(schema_.account_index());
    moved.keys = count_keys(content.records);
    LimitsMarker{Place::here, id_}.write(destination_, schema_);
    return moved;
}

// Checks that the store may be moved, and marks both Redis servers. False if it
// was already moved.
bool StoreMover::begin()
{
    const auto from = LimitsMarker::read(source_, schema_);
    const auto to = LimitsMarker::read(destination_, schema_);
    const bool same_store = !from.id.empty() && from.id == to.id;
    if (same_store && from.place == Place::moved_from && to.is_here()) {
        return false;
    }
    if (from.is_elsewhere()) {
        throw Failure(
            "the limits of this store are on another Redis: run petstorectl limits return first");
    }
    if (from.place == Place::moving_to) {
        throw Failure(
            "the store was not moved here completely: complete that with petstorectl move first");
    }
    refuse_same_database(source_, destination_, schema_, "--to");
    const bool resumed = same_store && from.place == Place::moved_from
                         && to.place == Place::moving_to;
    // Or was interrupted before the source was marked.
    const bool returns =
        same_store && from.is_here()
        && (to.place == Place::moved_from || to.place == Place::moving_to);
    if (!resumed && !returns) {
        // A new move, or one that was interrupted before both were marked.
        from.refuse_moved();
        const Content there = find(destination_);
        const bool begun = to.place == Place::moving_to;
        if ((to.place != Place::unknown && !begun) || !there.catalogue.empty()
            || !there.records.empty()) {
            throw Failure("the Redis of --to has data of this prefix already");
        }
    }
    id_ = !from.id.empty() ? from.id : !to.id.empty() ? to.id : store::new_id();
    // Once the store is marked, it is too late.
    require_settled(source_);
    require_settled(destination_);
    check_pet_count(resumed);
    fence_new_store(source_, schema_);
    fence_new_store(destination_, schema_);
    try_to_restore();
    // Mark the destination first: if interrupted, the source stays in use.
    LimitsMarker{Place::moving_to, id_}.write(destination_, schema_);
    LimitsMarker{Place::moved_from, id_}.write(source_, schema_);
    return true;
}

// Once the store is marked, freeze_catalogue.lua must not fail: no Redis would
// serve the store.
void StoreMover::check_pet_count(bool resumed)
{
    const std::string name = schema_.pet_count();
    const redis::Reply& reply =
        source_.call_naming_key(redis::Command("GET").key(name));
    std::string_view pets = reply.text();
    constexpr std::string_view kFrozen = "elsewhere ";
    if (pets.starts_with(kFrozen)) {
        pets.remove_prefix(kFrozen.size());
    }
    if (!reply.is(redis::Type::nil)
        && api::parse_int64(pets).value_or(-1) < 0) {
        throw Failure("the Redis key " + name + " is damaged"
                      + (resumed ? "" : "; nothing was changed"));
    }
}

// The destination may not permit RESTORE, or be too old for what the source
// dumps.
void StoreMover::try_to_restore()
{
    const redis::Reply& dump =
        source_.call(redis::Command("DUMP").key(schema_.limits_fence()));
    constexpr std::int64_t kMilliseconds = 1000;
    redis::Command restore("RESTORE");
    restore.key(schema_.limits_probe())
        .arg(kMilliseconds)
        .own(dump.text())
        .arg("REPLACE");
    destination_.call(restore);
}

StoreMover::Content StoreMover::find(RedisSession& redis) const
{
    // Of the Redis itself, copied in another way, or only for a while.
    const std::set<std::string, std::less<>> others = {
        schema_.limits_fence(), schema_.limits_marker(),
        schema_.limits_probe(), schema_.hosts(),
        schema_.key_index(),    schema_.account_index()};
    const std::string accounts = schema_.prefix() + ":{";
    const std::string count = schema_.pet_count();
    Content found;
    each_key(redis, schema_.prefix() + ":*", [&](std::string_view name) {
        if (name.starts_with(schema_.catalogue())) {
            if (name != count) {
                found.catalogue.emplace(name);
            }
        } else if (!name.starts_with(accounts) && others.count(name) == 0) {
            found.records.emplace(name);
        }
    });
    return found;
}

// Removes what an interrupted move, or a move in the other direction, has left:
// a key that was deleted since must not reappear.
void StoreMover::empty_destination()
{
    const Content old = find(destination_);
    remove(old.records);
    remove({schema_.key_index(), schema_.account_index(), schema_.pet_count()});
    remove(old.catalogue);
}

void StoreMover::remove(const Names& names)
{
    for (const std::string& name : names) {
        send_batched(destination_, redis::Command("DEL").key(name),
                     kKeysAtOnce);
    }
    destination_.receive_all();
}

void StoreMover::copy(const Names& names)
{
    Names batch;
    for (const std::string& name : names) {
        batch.insert(name);
        if (batch.size() == kKeysAtOnce) {
            copy_batch(batch);
            batch.clear();
        }
    }
    copy_batch(batch);
}

void StoreMover::copy_batch(const Names& names)
{
    for (const std::string& name : names) {
        source_.send(redis::Command("PEXPIRETIME").key(name));
        source_.send(redis::Command("DUMP").key(name));
    }
    for (const std::string& name : names) {
        const std::int64_t expires = source_.receive().integer();
        const redis::Reply& value = source_.receive();
        if (value.is(redis::Type::nil)) {
            continue;  // it has expired
        }
        redis::Command restore("RESTORE");
        restore.key(name)
            .arg(std::max<std::int64_t>(expires, 0))
            .own(value.text())
            .arg("REPLACE");
        if (expires > 0) {
            restore.arg("ABSTTL");
        }
        destination_.send(restore);
    }
    destination_.receive_all();
}

// In pieces: with many keys, the hash is too large for one reply.
void StoreMover::copy_index(const std::string& name)
{
    read_all(source_, redis::Scan::of_hash(name),
             [&](const redis::Reply& fields) {
                 redis::Command set("HSET");
                 set.key(name);
                 for (std::size_t i = 0; i < fields.size(); ++i) {
                     set.own(fields[i].text());
                 }
                 if (fields.size() > 0) {
                     destination_.call(set);
                 }
             });
    // If its slot has moved meanwhile, the cursor meant nothing to the new
    // server.
    const auto size = [&](RedisSession& redis) {
        return redis.call(redis::Command("HLEN").key(name)).integer();
    };
    if (size(destination_) < size(source_)) {
        throw Failure(name + " was not copied whole: run the command again");
    }
}

std::size_t StoreMover::count_keys(const Names& records) const
{
    const std::string beginning = schema_.prefix() + ":key:";
    return static_cast<std::size_t>(std::count_if(
        records.begin(), records.end(),
        [&](const std::string& name) { return name.starts_with(beginning); }));
}

}  // namespace petstore::ctl
