#include "help.h"

#include <iterator>
#include <map>

#include "../../api/administration_json.h"
#include "command_tree.h"

namespace petstore::ctl {

namespace {

// The possible values of a placeholder in the help.
std::vector<std::string> values_of(const std::string& name)
{
    static const std::map<std::string, std::vector<std::string>> kValues = {
        {"FILE", {kFiles}},
        {"PLAN", {"free", "pro", "business", "enterprise"}},
        {"SCOPES", {"read", "write", "read,write"}},
        {"STATE", {std::begin(api::kKeyStates), std::end(api::kKeyStates)}},
        {"STEP", {"day", "month"}},
        {"STATUS", {"available", "pending", "sold"}},
    };
    const auto found = kValues.find(name);
    return found == kValues.end() ? std::vector<std::string>() : found->second;
}

// The position of the last word on the command line.
struct Position {
    const CLI::App* command;
    const CLI::Option* option = nullptr;  // set if the word is its value
    std::size_t argument = 0;             // index among the command's arguments
};

Position locate(const CLI::App& app, const std::vector<std::string>& words)
{
    Position at{&app};
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string& word = words[i];
        if (at.option != nullptr) {
            at.option = nullptr;
        } else if (const auto* option = find_option(*at.command, word)) {
            at.option = takes_value(*option) ? option : nullptr;
        } else if (const auto* command = find_command(*at.command, word)) {
            at.command = command;
        } else if (!word.starts_with("-")) {
            ++at.argument;
        }
    }
    return at;
}

class Candidates {
public:
    explicit Candidates(std::string start) : start_(std::move(start)) {}

    void add(const std::string& word, const std::string& description = "")
    {
        if (word == kFiles || word.starts_with(start_)) {
            found_.push_back({word, description});
        }
    }

    void add_values(const CLI::Option& option)
    {
        for (const std::string& value : values_of(value_name(option))) {
            add(value);
        }
    }

    // Aliases only where no command has a name that begins like this: a second
    // candidate would keep the shell from completing the first.
    void add_commands(const CLI::App& app)
    {
        for (const CLI::App* command : commands_of(app)) {
            add(command->get_name(), command->get_description());
        }
        if (!found_.empty()) {
            return;
        }
        for (const CLI::App* command : commands_of(app)) {
            for (const std::string& alias : command->get_aliases()) {
                add(alias, command->get_description());
            }
        }
    }

    void add_options(const CLI::App& app)
    {
        for (const CLI::App* level = &app; level; level = level->get_parent()) {
            for (const CLI::Option* option : options_of(*level)) {
                const bool is_outer_help =
                    level != &app && option == level->get_help_ptr();
                for (const std::string& name : option->get_lnames()) {
                    if (!is_outer_help) {
                        add("--" + name, option->get_description());
                    }
                }
            }
        }
    }

    std::vector<Candidate> take() { return std::move(found_); }

private:
    const std::string start_;
    std::vector<Candidate> found_;
};

}  // namespace

std::vector<Candidate> complete(const CLI::App& app,
                                const std::vector<std::string>& words)
{
    const std::string last = words.empty() ? "" : words.back();
    if (!words.empty() && words.front() == "help") {
        return complete(app, {words.begin() + 1, words.end()});
    }
    const Position at = locate(app, words);
    const std::size_t equals = last.find('=');
    if (at.option != nullptr) {
        Candidates candidates(last);
        candidates.add_values(*at.option);
        return candidates.take();
    }
    if (last.starts_with("--") && equals != std::string::npos) {
        Candidates candidates(last.substr(equals + 1));
        const auto* option = find_option(*at.command, last.substr(0, equals));
        if (option != nullptr) {
            candidates.add_values(*option);
        }
        return candidates.take();
    }

    Candidates candidates(last);
    if (last.starts_with("-")) {
        candidates.add_options(*at.command);
        return candidates.take();
    }
    candidates.add_commands(*at.command);
    const auto arguments = arguments_of(*at.command);
    if (at.argument < arguments.size()) {
        candidates.add_values(*arguments[at.argument]);
    }
    return candidates.take();
}

}  // namespace petstore::ctl
