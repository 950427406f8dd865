#include "../command_line/commands.h"
#include "../command_line/values.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../upgrade/store_upgrade.h"
#include "store_mover.h"

namespace petstore::ctl {

namespace {

// Runs what the same command completes after an interruption. Turns a lost
// connection into advice to run the command again. `partly`: what may have
// happened by then.
template <typename Run>
auto restartable(const char* partly, Run run)
{
    try {
        return run();
    } catch (const LostConnection& lost) {
        throw Failure(std::string(lost.what()) + "; the " + partly
                          + ": run the command again",
                      lost.kind());
    }
}

// An account has none before its first key.
std::string counters_text(std::size_t accounts)
{
    return "the counters of " + count_text(accounts, "account");
}

template <typename Move>
void move_limits(Context& context, const char* command, Move move,
                 const char* done)
{
    auto place = context.limits_place();
    context.require_limit_redis(command);
    const std::size_t accounts = restartable("limits may be only partly moved",
                                             [&] { return move(place); });
    report(context.json(), {{"accounts", accounts}},
           std::string(done) + ": " + counters_text(accounts) + " were moved.");
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
    move_limits(
        context, "limits move",
        [&](LimitsPlace& place) { return place.move_out(options.emptied); },
        "The limits are on the Redis of --limit-redis");
}

void move_back(Context& context)
{
    move_limits(
        context, "limits return",
        [](LimitsPlace& place) { return place.move_back(); },
        "The limits are on the main Redis");
}

std::string content_text(const std::string& accounts, std::size_t keys,
                         std::int64_t pets)
{
    return accounts + ", " + count_text(keys, "key") + " and "
           + count_text(static_cast<std::uint64_t>(pets), "pet");
}

void move_store(Context& context)
{
    if (context.limit_redis() != nullptr) {
        throw UsageError(
            "move takes no --limit-redis: move the limits back with petstorectl limits return first");
    }
    const auto moved = restartable("store may be only partly moved", [&] {
        return StoreMover(context.redis(), context.target(), context.schema())
            .run();
    });
    report(context.json(),
           {{"accounts", moved.accounts},
            {"keys", moved.keys},
            {"pets", moved.pets}},
           "The store is on the Redis of --to: "
               + content_text(counters_text(moved.accounts), moved.keys,
                              moved.pets)
               + " were moved.");
}

void upgrade_store(Context& context)
{
    context.accept_format_1();
    const auto upgraded = restartable("store may be only partly upgraded", [&] {
        return StoreUpgrade(context.redis(), context.limit_redis(),
                            context.schema())
            .run();
    });
    for (const std::string& name : upgraded.damaged) {
        warn("the Redis key " + name + " is damaged and was left as it is");
    }
    report(context.json(),
           {{"upgraded", upgraded.any},
            {"accounts", upgraded.accounts},
            {"keys", upgraded.keys},
            {"pets", upgraded.pets}},
           upgraded.any
               ? "The store has format 2: "
                     + content_text(count_text(upgraded.accounts, "account"),
                                    upgraded.keys, upgraded.pets)
                     + " were converted."
               : "There is nothing to upgrade.");
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

void add_move_command(CLI::App& app, GlobalOptions& options, Action& action)
{
    CLI::App& command = add_command(
        app, "move", "Move the whole store to another Redis or a Cluster",
        action, move_store);
    refuse_empty(
        command.add_option("--to", options.target,
                           "The other Redis, in any form that --redis takes"))
        ->required();
    command.add_option(
        "--to-password-file", options.target_password_file,
        "As --password-file, for the other Redis; else that of --password-file");
}

void add_upgrade_command(CLI::App& app, Action& action)
{
    add_command(
        app, "upgrade",
        "Convert a store of format 1, while nginx is stopped on all hosts",
        action, upgrade_store);
}

}  // namespace petstore::ctl
