#include "command_tree.h"

#include <algorithm>

namespace petstore::ctl {

namespace {

std::vector<const CLI::Option*> select(const CLI::App& app, bool arguments)
{
    std::vector<const CLI::Option*> selected;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional() == arguments) {
            selected.push_back(option);
        }
    }
    return selected;
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app)
{
    return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_command(const CLI::App& app, std::string_view name)
{
    for (const CLI::App* command : commands_of(app)) {
        const auto& aliases = command->get_aliases();
        if (command->get_name() == name
            || std::find(aliases.begin(), aliases.end(), name)
                   != aliases.end()) {
            return command;
        }
    }
    return nullptr;
}

std::string full_name(const CLI::App& app)
{
    const CLI::App* parent = app.get_parent();
    return parent == nullptr ? app.get_name()
                             : full_name(*parent) + ' ' + app.get_name();
}

std::vector<const CLI::Option*> options_of(const CLI::App& app)
{
    return select(app, false);
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& app)
{
    return select(app, true);
}

const CLI::Option* find_option(const CLI::App& app, std::string_view name)
{
    for (const CLI::App* level = &app; level; level = level->get_parent()) {
        for (const CLI::Option* option : options_of(*level)) {
            for (const std::string& long_name : option->get_lnames()) {
                if (name == "--" + long_name) {
                    return option;
                }
            }
        }
    }
    return nullptr;
}

bool takes_value(const CLI::Option& option)
{
    return option.get_items_expected_max() != 0;
}

std::string value_name(const CLI::Option& option)
{
    return option.get_positional() ? option.get_name(true)
                                   : option.get_type_name();
}

}  // namespace petstore::ctl
