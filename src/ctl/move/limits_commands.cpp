#include "limits_commands.h"

#include <functional>
#include <memory>

#include "../exit.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

using Move = std::function<std::size_t(LimitsPlace&)>;

void run(Context& context, const Move& move, const char* done)
{
    auto place = context.limits_place();
    std::size_t accounts = 0;
    try {
        accounts = move(place);
    } catch (const LostConnection& lost) {
        throw Failure(
            std::string(lost.what())
                + "; the limits may be only partly moved: run the command again",
            lost.kind());
    }
    if (context.json()) {
        print_json({{"accounts", accounts}});
    } else {
        say(std::string(done) + ": " + count_text(accounts, "account")
            + (accounts == 1 ? " was moved." : " were moved."));
    }
}

CLI::App& add(CLI::App& limits, const char* name, const char* help,
              Action& action, const Move& move, const char* done)
{
    CLI::App& command = *limits.add_subcommand(name, help);
    command.callback([&action, move, done] {
        action = [move, done](Context& context) { run(context, move, done); };
    });
    return command;
}

}  // namespace

void add_limits_commands(CLI::App& app, Action& action)
{
    CLI::App& limits = *app.add_subcommand(
        "limits", "The Redis that has the counters and bans");
    limits.require_subcommand(1);
    const auto emptied = std::make_shared<bool>(false);
    add(
        limits, "move",
        "Move counters and bans from the main Redis to that of --limit-redis",
        action,
        [emptied](LimitsPlace& place) { return place.move_out(*emptied); },
        "The limits are on the Redis of --limit-redis")
        .add_flag(
            "--emptied", *emptied,
            "The Redis of --limit-redis had the limits, but has lost its data");
    add(limits, "return", "Move counters and bans back to the main Redis",
        action, std::mem_fn(&LimitsPlace::move_back),
        "The limits are on the main Redis");
}

}  // namespace petstore::ctl
