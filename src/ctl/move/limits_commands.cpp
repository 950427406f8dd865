#include <functional>

#include "../command_line/commands.h"
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
    report(context.json(), {{"accounts", accounts}},
           std::string(done) + ": " + count_text(accounts, "account")
               + (accounts == 1 ? " was moved." : " were moved."));
}

struct MoveOut {
    bool emptied = false;

    void add_to(CLI::App& command)
    {
        command.add_flag(
            "--emptied", emptied,
            "The Redis of --limit-redis had the limits, but has lost its data");
    }
};

void move_out(Context& context, const MoveOut& options)
{
    run(
        context,
        [&](LimitsPlace& place) { return place.move_out(options.emptied); },
        "The limits are on the Redis of --limit-redis");
}

void move_back(Context& context)
{
    run(context, std::mem_fn(&LimitsPlace::move_back),
        "The limits are on the main Redis");
}

}  // namespace

void add_limits_commands(CLI::App& app, Action& action)
{
    CLI::App& limits =
        add_group(app, "limits", "The Redis that has the counters and bans");
    add_command(
        limits, "move",
        "Move counters and bans from the main Redis to that of --limit-redis",
        action, move_out);
    add_command(limits, "return",
                "Move counters and bans back to the main Redis", action,
                move_back);
}

}  // namespace petstore::ctl
