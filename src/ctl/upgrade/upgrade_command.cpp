#include "../command_line/commands.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "store_upgrade.h"

namespace petstore::ctl {

namespace {

void upgrade_store(Context& context)
{
    context.accept_format_1();
    StoreUpgrade::Upgraded upgraded;
    try {
        upgraded =
            StoreUpgrade(context.redis(), context.limits(), context.schema())
                .run();
    } catch (const LostConnection& lost) {
        throw Failure(
            std::string(lost.what())
                + "; the store may be only partly upgraded: run the command again",
            lost.kind());
    }
    for (const std::string& name : upgraded.damaged) {
        warn("the Redis key " + name + " is damaged and was left as it is");
    }
    report(
        context.json(),
        {{"upgraded", upgraded.any},
         {"accounts", upgraded.accounts},
         {"keys", upgraded.keys},
         {"pets", upgraded.pets}},
        upgraded.any
            ? "The store has format 2: "
                  + count_text(upgraded.accounts, "account") + ", "
                  + count_text(upgraded.keys, "key") + " and "
                  + count_text(static_cast<std::uint64_t>(upgraded.pets), "pet")
                  + " were converted."
            : "There is nothing to upgrade.");
}

}  // namespace

void add_upgrade_command(CLI::App& app, Action& action)
{
    add_command(
        app, "upgrade",
        "Convert a store of format 1, while nginx is stopped on all hosts",
        action, upgrade_store);
}

}  // namespace petstore::ctl
