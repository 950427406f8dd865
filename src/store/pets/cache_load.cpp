#include "cache_load.h"

#include <algorithm>

#include "../../redis/error_table.h"

namespace petstore::store {

ChangesLoad::ChangesLoad(Loads& loads, NoKey key, const Version& now,
                         ReadCache& cache, Continuation& continuation)
    : CacheLoad(loads, key, cache, continuation, Loaded::What::changes),
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

VacancyCheck::VacancyCheck(Loads& loads, NoKey key, ReadCache& cache,
                           Continuation& continuation)
    : CacheLoad(loads, key, cache, continuation, Loaded::What::vacancy)
{}

void VacancyCheck::send_commands()
{
    send(source().commands.get(1));
    send(source().commands.last_id());
}

void VacancyCheck::take(std::size_t index, const redis::Reply& reply)
{
    const bool is_pet = index == 0;
    const auto damaged = [&] {
        return is_pet ? source().damaged_bucket(0)
                      : source().damaged(source().schema().last_pet_id());
    };
    if (reply.is_error()) {
        return fail(redis::is_wrong_type(reply) ? damaged()
                                                : failure_of(reply, false));
    }
    if (is_pet) {
        has_pets_ = !reply.is(redis::Type::nil);
        return;
    }
    const auto last_id = Version::parse(reply, reply).last_id;
    if (last_id < 0 || (has_pets_ && last_id == 0)) {
        fail(damaged());
    }
}

}  // namespace petstore::store
