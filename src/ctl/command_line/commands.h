#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "context.h"

namespace petstore::ctl {

// All commands but those of command_line.h. The parsed one sets `action`.
void add_account_commands(CLI::App& app, Action& action);
void add_key_commands(CLI::App& app, Action& action);
void add_usage_command(CLI::App& app, Action& action);
void add_plan_commands(CLI::App& app, Action& action);
void add_pet_commands(CLI::App& app, Action& action);
void add_cache_commands(CLI::App& app, Action& action);
void add_limits_commands(CLI::App& app, Action& action);
// The other Redis goes to `options`.
void add_move_command(CLI::App& app, GlobalOptions& options, Action& action);
void add_upgrade_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);

inline CLI::App& add_group(CLI::App& app, const char* name, const char* help)
{
    return *app.add_subcommand(name, help)->require_subcommand(1);
}

inline CLI::App& add_command(CLI::App& parent, const char* name,
                             const char* help, Action& action, Action run)
{
    return *parent.add_subcommand(name, help)
                ->callback([&action, run = std::move(run)] { action = run; });
}

// The command's arguments and options are those that Options::add_to() adds.
template <typename Options>
CLI::App& add_command(CLI::App& parent, const char* name, const char* help,
                      Action& action, void (*run)(Context&, const Options&))
{
    const auto options = std::make_shared<Options>();
    CLI::App& command = add_command(
        parent, name, help, action,
        [options, run](Context& context) { run(context, *options); });
    options->add_to(command);
    return command;
}

}  // namespace petstore::ctl
