#include "limits_place.h"

#include "account_mover.h"
#include "exit.h"
#include "random.h"

namespace petstore::ctl {

namespace {

using Place = LimitsMarker::Place;

// The id of the store's limits, or a new one.
std::string id_of(const LimitsMarker& main, const LimitsMarker& limits)
{
    if (!main.id.empty()) {
        return main.id;
    }
    return limits.id.empty() ? new_id() : limits.id;
}

}  // namespace

bool LimitsPlace::has_keys()
{
    return main_.call(redis::Command("EXISTS").key(schema_.key_index()))
               .integer()
           != 0;
}

void LimitsPlace::check(Access access)
{
    const LimitsMarker main = read(main_);
    main.refuse_moved();
    if (limits_ == nullptr) {
        if (main.is_elsewhere()) {
            throw Failure("the limits of this store are on another Redis: add "
                          "--limit-redis URL, or set PETSTORE_LIMIT_REDIS");
        }
        return;
    }
    const LimitsMarker limits = read(*limits_);
    limits.refuse_moved();
    if (!main.is_elsewhere()) {
        if (has_keys()) {
            throw Failure("the limits of this store are in its main Redis: "
                          "omit --limit-redis, or move them there with "
                          "petstorectl limits move");
        }
        if (access == Access::change) {
            choose(limits);
        }
    } else if (limits.place == Place::unknown) {
        throw Failure("the Redis of --limit-redis does not have the limits of "
                      "this store. If it is the right one and has lost its "
                      "data, run petstorectl limits move --emptied");
    } else if (limits.id != main.id) {
        throw Failure("the Redis of --limit-redis has the limits of another "
                      "store");
    } else if (limits.is_elsewhere()) {
        throw Failure("the limits were not moved completely: run petstorectl "
                      "limits move, or limits return, again");
    }
}

// Writes to the Redis that will have the limits first: after an interruption,
// the next change chooses again.
void LimitsPlace::choose(const LimitsMarker& limits)
{
    if (limits.is_elsewhere()) {
        throw Failure("the limits that the Redis of --limit-redis had were "
                      "moved away: run petstorectl limits move");
    }
    refuse_same_database(main_, *limits_, schema_, "--limit-redis");
    const std::string id = id_of({}, limits);
    write(*limits_, Place::here, id);
    write(main_, Place::elsewhere, id);
}

void LimitsPlace::begin_move(const LimitsMarker& main,
                             const LimitsMarker& limits)
{
    main.refuse_moved();
    limits.refuse_moved();
    if (!main.id.empty() && !limits.id.empty() && main.id != limits.id) {
        throw Failure("the Redis of --limit-redis has the limits of another "
                      "store");
    }
    refuse_same_database(main_, *limits_, schema_, "--limit-redis");
    // From now on neither Redis creates accounts, so each account is on only
    // one of them. New ones are not created until the move is complete.
    const std::string id = id_of(main, limits);
    write(*limits_, Place::elsewhere, id);
    write(main_, Place::elsewhere, id);
    wait_for_workers(main_, *limits_);
}

std::size_t LimitsPlace::move_out(bool emptied)
{
    if (limits_ == nullptr) {
        throw UsageError("limits move needs --limit-redis");
    }
    const LimitsMarker main = read(main_);
    const LimitsMarker limits = read(*limits_);
    if (main.is_elsewhere() && limits.is_here() && limits.id == main.id) {
        return 0;
    }
    if (main.is_elsewhere() && limits.place == Place::unknown && !emptied) {
        // Moving to a third Redis would split the store.
        throw Failure("the Redis of --limit-redis does not have the limits of "
                      "this store: first run petstorectl limits return with "
                      "the one that has them. If --limit-redis is the right "
                      "one and has lost its data, add --emptied");
    }
    begin_move(main, limits);
    const std::size_t moved = AccountMover(main_, *limits_, schema_).run();
    write(*limits_, Place::here, read(main_).id);
    return moved;
}

std::size_t LimitsPlace::move_back()
{
    if (limits_ == nullptr) {
        throw UsageError("limits return needs --limit-redis");
    }
    const LimitsMarker main = read(main_);
    const LimitsMarker limits = read(*limits_);
    if (!main.is_elsewhere()) {
        return 0;
    }
    if (limits.place == Place::unknown) {
        throw Failure("the Redis of --limit-redis does not have the limits of "
                      "this store");
    }
    begin_move(main, limits);
    const std::size_t moved = AccountMover(*limits_, main_, schema_).run();
    main_.call(redis::Command("DEL").key(schema_.limits()));
    return moved;
}

}  // namespace petstore::ctl
