#include "../../store/pets/pet_commands.h"
#include "../command_line/commands.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

void clear(Context& context)
{
    const store::PetCommands commands(context.schema());
    // A change would mark an empty Redis as one that has a store.
    const redis::Reply& numbers =
        context.pets(Access::read).call(commands.version());
    if (numbers.size() != 2) {
        throw Failure("unexpected reply of Redis to MGET");
    }
    const bool is_empty =
        numbers[0].is(redis::Type::nil) && numbers[1].is(redis::Type::nil);
    const bool cleared =
        !is_empty
        && context.pets(Access::change).run(commands.clear_caches()).integer()
               == 1;
    report(context.json(), {{"cleared", cleared}},
           cleared ? "Workers read all pets again from their next request on."
                   : "There are no pets in Redis, so none can be cached.");
}

}  // namespace

void add_cache_commands(CLI::App& app, Action& action)
{
    CLI::App& cache = add_group(app, "cache", "Caches of the workers");
    add_command(
        cache, "clear",
        "Clear the pet caches of all workers, after data were restored or edited in Redis",
        action, clear);
}

}  // namespace petstore::ctl
