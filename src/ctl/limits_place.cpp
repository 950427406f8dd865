#include "limits_place.h"

#include "account_mover.h"
#include "exit.h"
#include "random.h"

namespace petstore::ctl {

namespace {

using Place = LimitsMarker::Place;

constexpr std::string_view kHere = "here ";
constexpr std::string_view kElsewhere = "elsewhere ";
constexpr std::int64_t kProbeSeconds = 10;

// Of the store's limits, or a new one.
std::string id_of(const LimitsMarker& main, const LimitsMarker& limits)
{
    if (!main.id.empty()) {
        return main.id;
    }
    return limits.id.empty() ? new_id() : limits.id;
}

}  // namespace

LimitsMarker LimitsPlace::read(store::CommandRunner& redis)
{
    const redis::Reply& reply =
        redis.call(redis::Command("GET").key(schema_.limits()));
    const std::string_view text = reply.text();
    if (reply.is(redis::Type::nil)) {
        return {};
    }
    if (text.substr(0, kHere.size()) == kHere) {
        return {Place::here, std::string(text.substr(kHere.size()))};
    }
    if (text.substr(0, kElsewhere.size()) == kElsewhere) {
        return {Place::elsewhere, std::string(text.substr(kElsewhere.size()))};
    }
    throw Failure("the Redis key " + schema_.limits() + " is damaged");
}

void LimitsPlace::write(store::CommandRunner& redis, Place place,
                        const std::string& id)
{
    const std::string_view word = place == Place::here ? kHere : kElsewhere;
    redis.call(redis::Command("SET")
                   .key(schema_.limits())
                   .own(std::string(word) + id));
}

bool LimitsPlace::has_keys()
{
    return main_.call(redis::Command("EXISTS").key(schema_.key_index()))
               .integer()
           != 0;
}

void LimitsPlace::check(Access access)
{
    const LimitsMarker main = read(main_);
    if (limits_ == nullptr) {
        if (main.is_elsewhere()) {
            throw Failure("the limits of this store are on another Redis: add "
                          "--limit-redis URL, or set PETSTORE_LIMIT_REDIS");
        }
        return;
    }
    const LimitsMarker limits = read(*limits_);
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
                      "data, run petstorectl limits move");
    } else if (limits.id != main.id) {
        throw Failure("the Redis of --limit-redis has the limits of another "
                      "store");
    } else if (limits.is_elsewhere()) {
        throw Failure("the limits were not moved completely: run petstorectl "
                      "limits move, or limits return, again");
    }
}

// First the Redis that will have them: an interruption leaves a store that
// chooses again.
void LimitsPlace::choose(const LimitsMarker& limits)
{
    if (limits.is_elsewhere()) {
        throw Failure("the limits that the Redis of --limit-redis had were "
                      "moved away: run petstorectl limits move");
    }
    refuse_same_database();
    const std::string id = id_of({}, limits);
    write(*limits_, Place::here, id);
    write(main_, Place::elsewhere, id);
}

// Two URLs of one database would make the move delete what it has moved.
void LimitsPlace::refuse_same_database()
{
    const std::string name = schema_.limits_probe();
    const std::string probe = new_id();
    limits_->call(redis::Command("SET").key(name).arg(probe).arg("EX").arg(
        kProbeSeconds));
    const bool same =
        main_.call(redis::Command("GET").key(name)).text() == probe;
    limits_->call(redis::Command("DEL").key(name));
    if (same) {
        throw Failure("--limit-redis names the same database as --redis");
    }
}

void LimitsPlace::begin_move(const LimitsMarker& main,
                             const LimitsMarker& limits)
{
    if (!main.id.empty() && !limits.id.empty() && main.id != limits.id) {
        throw Failure("the Redis of --limit-redis has the limits of another "
                      "store");
    }
    refuse_same_database();
    // From now on neither creates an account: each is on one Redis only, and a
    // new one on none until the move is complete.
    const std::string id = id_of(main, limits);
    write(*limits_, Place::elsewhere, id);
    write(main_, Place::elsewhere, id);
}

std::size_t LimitsPlace::move_out()
{
    if (limits_ == nullptr) {
        throw UsageError("limits move needs --limit-redis");
    }
    const LimitsMarker main = read(main_);
    const LimitsMarker limits = read(*limits_);
    if (main.is_elsewhere() && limits.is_here() && limits.id == main.id) {
        return 0;
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
    begin_move(main, limits);
    const std::size_t moved = AccountMover(*limits_, main_, schema_).run();
    main_.call(redis::Command("DEL").key(schema_.limits()));
    return moved;
}

}  // namespace petstore::ctl
