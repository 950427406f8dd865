#include "cache_load.h"

#include <algorithm>
#include <utility>

#include "../../redis/error_table.h"

namespace petstore::store {

ChangesLoad::ChangesLoad(Loads& loads, NoKey key, const Version& now,
                         ReadCache& cache, Continuation& continuation)
    : CacheLoad(loads, key, cache, continuation),
      changes_(std::max(now.changes, cache.latest().changes))
{}

void ChangesLoad::send_commands()
{
    send(source().commands.change_log(
        cache().changes().entries_until(changes_)));
}

void ChangesLoad::take(std::size_t, const redis::Reply& reply)
{
    // Without the log, anything may have changed. An error does not fail the
    // read, because it may concern the log alone.
    if (is_current()) {
        cache().changes().add(reply, changes_);
    }
}

void IdsLoad::take(std::size_t, const redis::Reply& reply)
{
    if (reply.is_error()) {
        return fail(failure_of(reply, Purpose::read));
    }
    if (reply.size() != 2) {
        return fail(unavailable());
    }
    const auto changes = Version::parse(reply[0], reply[0]).changes;
    if (changes <= 0 || history() != cache().history()) {
        return;  // the version is read again
    }
    if (auto ids = PetIds::parse(reply[1].text())) {
        cache().put(std::move(*ids), changes);
    } else {
        fail(source().damaged(source().schema().segments()));
    }
}

void VacancyCheck::send_commands()
{
    send(source().commands.get(1));
    send(source().commands.count());
}

void VacancyCheck::take(std::size_t index, const redis::Reply& reply)
{
    const bool is_pet = index == 0;
    const auto damaged = [&] {
        return is_pet ? source().damaged_bucket(0)
                      : source().damaged(source().schema().pet_count());
    };
    if (reply.is_error()) {
        return fail(redis::is_wrong_type(reply)
                        ? damaged()
                        : failure_of(reply, Purpose::read));
    }
    if (is_pet) {
        has_pets_ = !reply.is(redis::Type::nil);
        return;
    }
    const auto count = Version::parse(reply, reply).count;
    if (count < 0 || (has_pets_ && count == 0)) {
        fail(damaged());
    }
}

}  // namespace petstore::store
