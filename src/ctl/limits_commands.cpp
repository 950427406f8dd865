#include "limits_commands.h"

#include "exit.h"
#include "output.h"

namespace petstore::ctl {

namespace {

using Move = std::size_t (LimitsPlace::*)();

void run(Context& context, Move move, const char* done)
{
    auto place = context.limits_place();
    std::size_t accounts = 0;
    try {
        accounts = (place.*move)();
    } catch (const LostConnection& lost) {
        throw Failure(std::string(lost.what())
                      + "; the limits may not be moved completely, run the "
                        "command again");
    }
    if (context.json()) {
        print_json({{"accounts", accounts}});
    } else {
        say(std::string(done) + ": "
            + (accounts == 1 ? "1 account was"
                             : std::to_string(accounts) + " accounts were")
            + " moved.");
    }
}

void add(CLI::App& limits, const char* name, const char* help, Action& action,
         Move move, const char* done)
{
    limits.add_subcommand(name, help)->callback([&action, move, done] {
        action = [move, done](Context& context) { run(context, move, done); };
    });
}

}  // namespace

void add_limits_commands(CLI::App& app, Action& action)
{
    CLI::App& limits = *app.add_subcommand(
        "limits", "The Redis that has the counters and bans");
    limits.require_subcommand(1);
    add(limits, "move",
        "Move counters and bans from the main Redis to that of --limit-redis",
        action, &LimitsPlace::move_out,
        "The limits are on the Redis of --limit-redis");
    add(limits, "return", "Move them back, to go on with one Redis", action,
        &LimitsPlace::move_back, "The limits are on the main Redis");
}

}  // namespace petstore::ctl
