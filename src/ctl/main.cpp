#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "cache_commands.h"
#include "context.h"
#include "doctor.h"
#include "exit.h"
#include "key_commands.h"
#include "output.h"
#include "pet_commands.h"

namespace petstore::ctl {

namespace {

constexpr char kVersion[] = "petstorectl 0.1.0";

int complain(const std::exception& error, ExitCode code)
{
    std::cerr << "petstorectl: " << error.what() << '\n';
    return code;
}

int run(int argc, char** argv)
{
    std::string redis = "redis://127.0.0.1:6379/0";
    std::string prefix = "petstore";
    bool json = false;
    Action action;

    CLI::App app("Manages the API keys and pets of the pet store in Redis.",
                 "petstorectl");
    // Global options are welcome behind the subcommand, too.
    app.fallthrough();
    app.require_subcommand(1);
    app.set_version_flag("--version", kVersion);
    app.add_option("--redis", redis,
                   "redis://[user[:password]@]host[:port][/db] or "
                   "unix:/path[?db=N]")
        ->envname("PETSTORE_REDIS")
        ->capture_default_str();
    app.add_option("--prefix", prefix, "Namespace of all keys in Redis")
        ->capture_default_str();
    app.add_flag("--json", json, "Print JSON");
    add_key_commands(app, action);
    add_pet_commands(app, action);
    add_cache_commands(app, action);
    add_doctor_command(app, action);

    std::ios::sync_with_stdio(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kExitOk : kExitUsage;
    }
    try {
        Context context(redis, prefix, json);
        action(context);
        flush_output();
        return kExitOk;
    } catch (const UsageError& error) {
        return complain(error, kExitUsage);
    } catch (const std::exception& error) {
        return complain(error, kExitFailure);
    }
}

}  // namespace

}  // namespace petstore::ctl

int main(int argc, char** argv)
{
    return petstore::ctl::run(argc, argv);
}
