#include "limits_place.h"

#include "../../store/random.h"
#include "../exit.h"
#include "../move/account_mover.h"
#include "../terminal/output.h"
#include "store_format.h"

namespace petstore::ctl {

namespace {

using Place = LimitsMarker::Place;

// Whether that Redis has limits, or is getting some, that are not this store's.
// An id beside "elsewhere" is what `limits return` leaves there: it says
// nothing about a store whose limits are in its main Redis.
bool is_foreign(const LimitsMarker& main, const LimitsMarker& limits)
{
    return limits.id != main.id
           && (limits.is_here() || (main.is_elsewhere() && !limits.id.empty()));
}

}  // namespace

// Also after the last key was deleted: accounts stay, with their usage and
// bans.
bool LimitsPlace::has_accounts(RedisSession& redis)
{
    for (const std::string& index :
         {schema_.key_index(), schema_.account_index()}) {
        if (redis.call(redis::Command("EXISTS").key(index)).integer() != 0) {
            return true;
        }
    }
    return false;
}

void LimitsPlace::check(Access access)
{
    const LimitsMarker main = read(main_);
    main.refuse_moved();
    if (limit_redis_ == nullptr) {
        return refuse_elsewhere(main);
    }
    const LimitsMarker limits = read(*limit_redis_);
    limits.refuse_moved();
    if (!main.is_elsewhere()) {
        if (has_accounts(main_)) {
            throw Failure(
                "the limits of this store are in its main Redis: omit --limit-redis, or move them there with petstorectl limits move");
        }
        if (access != Access::read) {
            refuse_foreign(main, limits);
        }
        if (access == Access::change) {
            // Last, because a limit Redis that has limits is refused unless the
            // main Redis has its id. After an interruption before that, the
            // next change chooses again, or `limits move` completes the choice.
            write(*limit_redis_, Place::here, mark(main));
        }
    } else {
        refuse_others(main, limits);
    }
}

// Refuses a limit Redis that this store may not choose.
void LimitsPlace::refuse_foreign(const LimitsMarker& main,
                                 const LimitsMarker& limits)
{
    if (is_foreign(main, limits)) {
        throw Failure(
            std::string(kForeignLimits)
            + ". If these are its limits, and its main Redis was lost, delete "
            + schema_.limits_marker()
            + " in the Redis of --limit-redis, and run the command again");
    }
    refuse_same_database(main_, *limit_redis_, schema_, "--limit-redis");
}

// A host that uses the limit Redis before the limits are there counts from
// zero; or the limits are those of a main Redis that was lost and restored. The
// move would overwrite what was counted.
void LimitsPlace::refuse_counts()
{
    if (has_accounts(*limit_redis_)) {
        throw Failure(
            "the Redis of --limit-redis is the main Redis of a store with this prefix");
    }
    std::size_t accounts = 0;
    each_key(*limit_redis_, schema_.account_pattern(),
             [&](std::string_view name) {
                 const auto key = schema_.parse_account_key(name);
                 accounts += key && key->suffix == "state" ? 1 : 0;
             });
    if (accounts > 0) {
        throw Failure(
            "the Redis of --limit-redis has counts of "
            + count_text(accounts, "account")
            + " already, which the move would overwrite: see \"Counts on the limit Redis\" in docs/two-redis.md");
    }
}

// Marks both Redis servers as having the limits elsewhere. Returns the id of
// the store: never one that only the limit Redis has, which may be another
// store's.
std::string LimitsPlace::mark(const LimitsMarker& main)
{
    fence_new_store(*limit_redis_, schema_);
    fence_new_store(main_, schema_);
    std::string id = main.id.empty() ? store::new_id() : main.id;
    write(*limit_redis_, Place::elsewhere, id);
    if (!main.id.empty()) {
        write(main_, Place::elsewhere, id);
        return id;
    }
    // Of several first commands that run at once, one chooses the id.
    LimitsMarker{Place::elsewhere, id}.write_if_absent(main_, schema_);
    const std::string chosen = read(main_).id;
    if (chosen != id) {
        id = chosen;
        write(*limit_redis_, Place::elsewhere, id);
    }
    return id;
}

void LimitsPlace::begin_move(const LimitsMarker& main,
                             const LimitsMarker& limits)
{
    main.refuse_moved();
    limits.refuse_moved();
    refuse_foreign(main, limits);
    if (!main.is_elsewhere() && limits.place == Place::unknown) {
        refuse_counts();
    }
    // Once both are marked, it is too late.
    require_settled(main_);
    require_settled(*limit_redis_);
    // From now on neither Redis creates accounts, so each account is on only
    // one of them. New ones are not created until the move is complete.
    mark(main);
    if (main_.is_cluster() || limit_redis_->is_cluster()) {
        wait_for_workers();
    }
}

std::size_t LimitsPlace::move_out(bool emptied)
{
    const LimitsMarker main = read(main_);
    const LimitsMarker limits = read(*limit_redis_);
    if (main.is_elsewhere() && limits.is_here() && limits.id == main.id) {
        return 0;
    }
    if (main.is_elsewhere() && limits.place == Place::unknown && !emptied) {
        // Moving to a third Redis would split the store.
        throw Failure(
            "the Redis of --limit-redis does not have the limits of this store: first run petstorectl limits return with the one that has them. If --limit-redis is the right one and has lost its data, add --emptied");
    }
    begin_move(main, limits);
    const std::size_t moved = AccountMover(main_, *limit_redis_, schema_).run();
    write(*limit_redis_, Place::here, read(main_).id);
    return moved;
}

std::size_t LimitsPlace::move_back()
{
    const LimitsMarker main = read(main_);
    const LimitsMarker limits = read(*limit_redis_);
    if (!main.is_elsewhere()) {
        return 0;
    }
    if (limits.place == Place::unknown) {
        throw Failure(
            "the Redis of --limit-redis does not have the limits of this store");
    }
    begin_move(main, limits);
    const std::size_t moved = AccountMover(*limit_redis_, main_, schema_).run();
    // The store keeps its id: by it, a move back finds its old copy.
    write(main_, Place::here, main.id);
    return moved;
}

}  // namespace petstore::ctl
