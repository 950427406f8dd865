#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "../api/build_version.h"
#include "command_line/command_line.h"
#include "command_line/commands.h"
#include "command_line/context.h"
#include "command_line/values.h"
#include "exit.h"
#include "terminal/escape.h"
#include "terminal/output.h"
#include "terminal/terminal_stream.h"

namespace petstore::ctl {

namespace {

Category category_of(Failure::Kind kind)
{
    for (const auto& row : kCategories) {
        if (row.kind == kind) {
            return row.category;
        }
    }
    return kFailed;
}

// Looks at the bare arguments: the command line may be what is wrong.
bool asks_for_json(int argc, char** argv)
{
    return std::any_of(argv + 1, argv + argc, [](const char* argument) {
        const std::string_view word = argument;
        return word == "--json" || word == "--json=true";
    });
}

int complain(const std::string& message, Category category, bool json)
{
    if (json) {
        const Json error = {{"code", category.code}, {"message", message}};
        std::cerr << error.dump(-1, ' ', false, Json::error_handler_t::replace)
                  << '\n';
    } else {
        std::cerr << "petstorectl: " << escaped(message) << '\n';
    }
    return category.exit;
}

// If a standard stream is closed, the connection to Redis would reuse its
// descriptor and receive the output. Opens placeholders on which reading and
// writing fail.
void occupy_standard_streams()
{
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(fd, F_GETFD) == -1) {
            // open() returns the lowest free descriptor, which is `fd`.
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

// Named like redis-cli's options.
void add_tls_options(CLI::App& app, TlsOptions& tls)
{
    add_value(
        app, "--cacert", "FILE", tls.trusted_certificates,
        "File of CA certificates that verify a rediss:// server; else the system's CA store")
        ->envname("PETSTORE_REDIS_CA");
    add_value(app, "--cert", "FILE", tls.certificate,
              "File of the client's certificate; needs --key");
    add_value(app, "--key", "FILE", tls.key, "File of the client's key");
    add_value(
        app, "--sni", "NAME", tls.name,
        "Name that the server's certificate must contain, also sent to the server; else the host of the URL");
    app.add_flag("--insecure", tls.insecure,
                 "Accept any certificate of the server");
}

int run(int argc, char** argv)
{
    GlobalOptions options;
    Action action;

    CLI::App app(
        "Manages the accounts, API keys and pets of the pet store in Redis.",
        "petstorectl");
    // Global options are allowed after the subcommand, too.
    app.fallthrough();
    app.require_subcommand(1);
    const std::string version =
        std::string("petstorectl ") + api::build_version();
    app.set_version_flag("--version", version);
    add_value(
        app, "--redis", "URL", options.redis,
        "redis://[user[:password]@]host[:port][/db], rediss://… (TLS), unix:/path[?db=N], \"sentinel=NAME URL…\" or \"cluster URL…\"")
        ->envname("PETSTORE_REDIS")
        ->capture_default_str();
    add_value(app, "--limit-redis", "URL", options.limit_redis,
              "Redis with the counters and bans, if it is another one")
        ->envname("PETSTORE_LIMIT_REDIS");
    add_value(
        app, "--user", "NAME", options.user,
        "ACL user to log in as, for a URL without credentials and for servers behind Sentinels")
        ->envname("PETSTORE_REDIS_USER");
    add_value(
        app, "--password-file", "FILE", options.password_file,
        "File whose first line is Redis's password, for a URL without one and for servers behind Sentinels; else REDISCLI_AUTH")
        ->envname("PETSTORE_REDIS_PASSWORD_FILE");
    add_value(app, "--limit-password-file", "FILE", options.limit_password_file,
              "The same for --limit-redis; else that of --password-file");
    add_tls_options(app, options.tls);
    add_value(app, "--prefix", "NAME", options.prefix,
              "Namespace of all keys in Redis")
        ->envname("PETSTORE_PREFIX")
        ->capture_default_str();
    app.add_flag("--json", options.json, "Print JSON");
    add_account_commands(app, action);
    add_key_commands(app, action);
    add_usage_command(app, action);
    add_plan_commands(app, action);
    add_pet_commands(app, action);
    add_cache_commands(app, action);
    add_limits_commands(app, action);
    add_move_command(app, options, action);
    add_upgrade_command(app, action);
    add_doctor_command(app, action);
    add_help_commands(app, version, options.json);

    const bool json = asks_for_json(argc, argv);
    try {
        try {
            parse(app, argc, argv);
            Context context(options);
            action(context);
        } catch (const CLI::Success&) {
            // Help or the version was printed.
        }
        flush_output();
        return kExitOk;
    } catch (const UsageError& error) {
        return complain(error.what(), kUsage, json);
    } catch (const Failure& error) {
        std::string message = error.what();
        if (error.kind() == Failure::Kind::not_in_effect) {
            message += "; the change is not yet in effect, run again";
        }
        return complain(message, category_of(error.kind()), json);
    } catch (const std::exception& error) {
        return complain(error.what(), kFailed, json);
    }
}

}  // namespace

}  // namespace petstore::ctl

int main(int argc, char** argv)
{
    petstore::ctl::occupy_standard_streams();
    std::ios::sync_with_stdio(false);
    const petstore::ctl::TerminalStream out(std::cout, STDOUT_FILENO);
    const petstore::ctl::TerminalStream err(std::cerr, STDERR_FILENO);
    return petstore::ctl::run(argc, argv);
}
