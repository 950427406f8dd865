#include "../command_line/commands.h"
#include "../command_line/values.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "store_mover.h"

namespace petstore::ctl {

namespace {

void move_store(Context& context)
{
    if (context.limits() != nullptr) {
        throw UsageError(
            "move takes no --limit-redis: move the limits back with petstorectl limits return first");
    }
    StoreMover::Moved moved;
    try {
        moved = StoreMover(context.redis(), context.target(), context.schema())
                    .run();
    } catch (const LostConnection& lost) {
        throw Failure(
            std::string(lost.what())
                + "; the store may be only partly moved: run the command again",
            lost.kind());
    }
    report(context.json(),
           {{"accounts", moved.accounts},
            {"keys", moved.keys},
            {"pets", moved.pets}},
           "The store is on the Redis of --to: "
               + count_text(moved.accounts, "account") + ", "
               + count_text(moved.keys, "key") + " and "
               + count_text(static_cast<std::uint64_t>(moved.pets), "pet")
               + " were moved.");
}

}  // namespace

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

}  // namespace petstore::ctl
