#include "command_line.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/build_version.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "command_tree.h"
#include "help.h"
#include "words.h"

namespace petstore::ctl {

namespace {

std::vector<std::string> command_names(const CLI::App& app)
{
    std::vector<std::string> names;
    for (const CLI::App* command : commands_of(app)) {
        names.push_back(command->get_name());
    }
    return names;
}

std::vector<std::string> option_names(const CLI::App* app)
{
    std::vector<std::string> names;
    for (; app != nullptr; app = app->get_parent()) {
        for (const CLI::Option* option : app->get_options()) {
            for (const std::string& name : option->get_lnames()) {
                names.push_back("--" + name);
            }
        }
    }
    return names;
}

// The command that prints the help of `app`: "petstorectl help key create".
std::string help_line(const CLI::App& app)
{
    std::string line = full_name(app);
    const std::size_t space = line.find(' ');
    return line.insert(std::min(space, line.size()), " help");
}

std::string did_you_mean(std::string_view meant)
{
    return ". Did you mean '" + std::string(meant) + "'?";
}

void print_help(const CLI::App& app)
{
    // Not app.help(): that prints the help of the parsed subcommand, "help".
    std::string text = app.get_formatter()->make_help(
        &app, full_name(app), CLI::AppFormatMode::Normal);
    text.erase(text.find_last_not_of('\n') + 1);
    print_data(text);

    const std::string name = full_name(app);
    const std::size_t space = name.find(' ');
    const std::string command =
        space == std::string::npos ? "" : name.substr(space + 1);
    const auto& examples = examples_of(command);
    if (!examples.empty()) {
        print_data("\nExamples:");
    }
    for (const std::string& example : examples) {
        print_line("  " + example);
    }
    if (app.get_parent() != nullptr) {
        print_data("\nOptions of all commands: see petstorectl help");
    }
}

// The last known command on the command line.
const CLI::App& deepest(const CLI::App& app)
{
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? app : deepest(*parsed.front());
}

// Also finds a command typed without its group's name.
std::string closest_command(const CLI::App& app, const std::string& word)
{
    std::string meant(closest(word, command_names(app)));
    for (const CLI::App* group : commands_of(app)) {
        if (!meant.empty()) {
            break;
        }
        const auto names = command_names(*group);
        const auto name = closest(word, names);
        if (!name.empty()) {
            meant.append(group->get_name()).append(" ").append(name);
        }
    }
    return meant;
}

// This and unknown_arguments() do not repeat a word: any may be a misplaced API
// key.
[[noreturn]] void unknown_command(const CLI::App& app, const std::string& word)
{
    const std::string meant = closest_command(app, word);
    throw UsageError("unknown command"
                     + (meant.empty()
                            ? "; " + help_line(app) + " lists all commands"
                            : did_you_mean(meant)));
}

[[noreturn]] void unknown_arguments(const CLI::App& app,
                                    const std::vector<std::string>& arguments)
{
    const std::string see = ": see " + help_line(app);
    const auto option =
        std::find_if(arguments.begin(), arguments.end(), [](const auto& each) {
            return each.size() > 1 && each[0] == '-';
        });
    if (option == arguments.end()) {
        throw UsageError("too many arguments" + see);
    }
    const auto names = option_names(&app);
    const auto meant = closest(option->substr(0, option->find('=')), names);
    throw UsageError("unknown option"
                     + (meant.empty() ? see : did_you_mean(meant)));
}

template <class Kind>
bool is_a(const CLI::ParseError& error)
{
    return dynamic_cast<const Kind*>(&error) != nullptr;
}

// Some CLI11 messages quote arguments, which may be API keys. Keeps only
// messages that name options.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error)
{
    const CLI::App& command = deepest(app);
    const std::string see = ": see " + help_line(command);
    const std::string_view text = error.what();
    if (is_a<CLI::ArgumentMismatch>(error)
        && text.find(": 1 required ") != std::string_view::npos) {
        throw UsageError(std::string(text.substr(0, text.find(':')))
                         + " needs a value" + see);
    }
    if (is_a<CLI::ArgumentMismatch>(error) || is_a<CLI::ExcludesError>(error)) {
        throw UsageError(error.what() + see);
    }
    if (!is_a<CLI::RequiredError>(error) && !is_a<CLI::ExtrasError>(error)) {
        throw UsageError("an option has an invalid value" + see);
    }
    const auto unknown = app.remaining(true);
    const bool is_group = !command_names(command).empty();
    if (is_group && !unknown.empty() && unknown.front()[0] != '-') {
        unknown_command(command, unknown.front());
    }
    if (!unknown.empty()) {
        unknown_arguments(command, unknown);
    }
    if (is_group) {
        throw UsageError("no command given; " + help_line(command)
                         + " lists all commands");
    }
    throw UsageError(error.what() + see);
}

void help(const CLI::App& app, const std::vector<std::string>& words)
{
    const CLI::App* command = &app;
    for (const std::string& word : words) {
        const CLI::App* next = find_command(*command, word);
        if (next == nullptr) {
            if (command_names(*command).empty()) {
                unknown_arguments(*command, {word});
            }
            unknown_command(*command, word);
        }
        command = next;
    }
    print_help(*command);
}

}  // namespace

void add_help_commands(CLI::App& app, const std::string& version,
                       const bool& json)
{
    CLI::App* command = app.add_subcommand("help", "Explain a command");
    const auto words = std::make_shared<std::vector<std::string>>();
    command->add_option("COMMAND", *words, "key create, for example");
    command->callback([&app, words] {
        help(app, *words);
        throw CLI::Success();
    });
    app.add_subcommand("version", "Print the version")
        ->callback([version, &json] {
            if (json) {
                print_json({{"version", api::build_version()}});
            } else {
                print_line(version);
            }
            throw CLI::Success();
        });
    app.add_subcommand("manual", "Print the manual page, in roff")
        ->callback([&app, version] {
            std::cout << manual_page(app, version);
            throw CLI::Success();
        });
}

namespace {

// Handles `petstorectl complete WORD…`, which the shell scripts in completions/
// call. Not a CLI11 command, because CLI11 would parse the words.
bool answered_completion(const CLI::App& app, int argc, char** argv)
{
    if (argc < 2 || std::string_view(argv[1]) != "complete") {
        return false;
    }
    for (const Candidate& candidate : complete(app, {argv + 2, argv + argc})) {
        print_data(candidate.word + '\t' + candidate.description);
    }
    return true;
}

// Whether any command has a flag of this name.
bool has_flag(const CLI::App& app, const std::string& name)
{
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option != nullptr) {
        return !takes_value(*option);
    }
    const auto commands = commands_of(app);
    return std::any_of(
        commands.begin(), commands.end(),
        [&](const CLI::App* command) { return has_flag(*command, name); });
}

// The arguments in reverse, as CLI11 takes them. It would take the next one for
// the value of "--option=".
std::vector<std::string> reversed_arguments(const CLI::App& app, int argc,
                                            char** argv)
{
    std::vector<std::string> words;
    bool options = true;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        options = options && word != "--";
        const bool no_value =
            options && word.substr(0, 2) == "--"
            && word.find('=') == word.size() - 1
            && !has_flag(app, std::string(word.substr(0, word.size() - 1)));
        words.emplace_back(word.substr(0, word.size() - no_value));
        if (no_value) {
            words.emplace_back();
        }
    }
    std::reverse(words.begin(), words.end());
    return words;
}

}  // namespace

void parse(CLI::App& app, int argc, char** argv)
{
    if (answered_completion(app, argc, argv)) {
        throw CLI::Success();
    }
    try {
        app.parse(reversed_arguments(app, argc, argv));
    } catch (const CLI::CallForVersion& version) {
        print_line(version.what());
        throw CLI::Success();
    } catch (const CLI::CallForHelp&) {
        print_help(deepest(app));
        throw CLI::Success();
    } catch (const CLI::Success&) {
        throw;
    } catch (const CLI::ParseError& error) {
        refuse(app, error);
    }
}

}  // namespace petstore::ctl
