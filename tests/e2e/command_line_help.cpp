// What petstorectl says about itself: help, completion and the manual page.
#include <regex>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

// Runs petstorectl with an unreachable Redis: nothing here may need it.
Output offline(const Words& arguments)
{
    return ctl("unix:/nowhere/redis.sock", arguments);
}

// The names of the commands that the help of `group` lists.
Words commands_of(Words group)
{
    group.insert(group.begin(), "help");
    const auto help = offline(group);
    REQUIRE(help.code == 0);
    Words names;
    bool listed = false;
    for (const auto& line : split(help.out, '\n')) {
        listed = (listed && !line.empty()) || line == "Subcommands:"
                 || line == "SUBCOMMANDS:";
        std::smatch match;
        static const std::regex kName("^  ([a-z-]+),? .*");
        if (listed && std::regex_match(line, match, kName)) {
            names.push_back(match[1]);
        }
    }
    return names;
}

// Every executable command, as its words.
std::vector<Words> all_commands()
{
    std::vector<Words> commands;
    for (const auto& name : commands_of({})) {
        const auto inner = commands_of({name});
        if (inner.empty()) {
            commands.push_back({name});
        }
        for (const auto& each : inner) {
            commands.push_back({name, each});
        }
    }
    return commands;
}

Words examples_of(const Words& command)
{
    auto words = command;
    words.push_back("--help");
    const auto help = offline(words);
    CHECK(help.code == 0);
    Words examples;
    bool listed = false;
    for (const auto& line : split(help.out, '\n')) {
        listed = (listed && !line.empty()) || line == "Examples:";
        if (listed && line.rfind("  ", 0) == 0) {
            examples.push_back(line.substr(2));
        }
    }
    return examples;
}

Words complete(Words words)
{
    words.insert(words.begin(), {ctl_binary(), "complete"});
    const auto output = run(words);
    CHECK(output.code == 0);
    CHECK(output.err.empty());
    Words candidates;
    for (const auto& line : split(output.out, '\n')) {
        candidates.push_back(line.substr(0, line.find('\t')));
    }
    return candidates;
}

bool has(const Words& words, const std::string& word)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("command line: every command has examples that it accepts")
{
    const auto commands = all_commands();
    REQUIRE(commands.size() > 15);
    for (const auto& command : commands) {
        const auto examples = examples_of(command);
        INFO(command.front() << ' ' << command.back());
        CHECK_FALSE(examples.empty());
        for (std::string example : examples) {
            INFO(example);
            CHECK(contains(example, "petstorectl"));
            // The URL is rejected only after the rest of the command line is
            // accepted.
            example =
                std::regex_replace(example, std::regex("petstorectl"),
                                   ctl_binary() + " --redis nonsense:// ");
            example = std::regex_replace(
                example, std::regex("(--redis) redis:"), "$1 nonsense:");
            const TempDir dir;
            write_file(dir / "key.txt", "a-key\n");
            const auto output =
                run({"sh", "-c", "cd " + dir.path() + " && " + example});
            const bool is_offline = command.front() == "help"
                                    || command.front() == "version"
                                    || command.front() == "manual";
            CHECK((is_offline || contains(output.err, "--redis: ")));
        }
    }
    CHECK_FALSE(examples_of({}).empty());
}

TEST_CASE("command line: completion follows the definitions")
{
    const auto top = complete({""});
    for (const auto& command : commands_of({})) {
        CHECK(has(top, command));
    }
    CHECK(complete({"key", "ro"}) == Words{"rotate"});
    CHECK(complete({"help", "key", "ro"}) == Words{"rotate"});
    CHECK(complete({"key", "l"}) == Words{"list"});
    CHECK(complete({"key", "ls"}) == Words{"ls"});
    CHECK(complete({"key", "rev"}) == Words{"revoke"});
    CHECK(complete({"key", "ls", "--st"}) == Words{"--state"});
    CHECK(complete({"--json", "--redis", "key", "pet", "set"})
          == Words{"set-status"});
    CHECK(complete({"key", "create", "--per"})
          == Words{"--per-minute", "--per-day", "--per-month"});
    CHECK(has(complete({"key", "create", "--"}), "--redis"));
    CHECK(complete({"key", "create", "--plan", "b"}) == Words{"business"});
    CHECK(complete({"key", "create", "--plan=b"}) == Words{"business"});
    CHECK(complete({"key", "create", "--plan", "pro", "--sc"})
          == Words{"--scopes"});
    CHECK(complete({"pet", "set-status", "7", ""})
          == Words{"available", "pending", "sold"});
    CHECK(complete({"pet", "import", "x"}) == Words{":files"});
    CHECK(complete({"--cacert", ""}) == Words{":files"});
    CHECK(complete({"key", "show", ""}).empty());
    CHECK(complete({"nonsense", ""}) == top);
    CHECK(run({ctl_binary(), "complete"}).code == 0);
}

TEST_CASE("command line: bash completes with the packaged script")
{
    const auto replies = [](const std::string& line) {
        const std::string script =
            std::string(E2E_SUPPORT) + "/../../../completions/petstorectl.bash";
        const auto output = run(
            {"bash", "-c",
             "compopt() { echo files; }; . \"$1\"; COMP_LINE=$2; COMP_POINT=${#2}; _petstorectl \"$3\"; printf '%s\\n' \"${COMPREPLY[@]}\"",
             "-", script, line, ctl_binary()});
        CHECK(output.code == 0);
        CHECK(output.err.empty());
        return split(output.out, '\n');
    };
    CHECK(replies("petstorectl key ro") == Words{"rotate"});
    CHECK(replies("petstorectl pet set-status 7 ")
          == Words{"available", "pending", "sold"});
    CHECK(replies("petstorectl key create --plan=b") == Words{"business"});
    CHECK(replies("petstorectl pet import ").front() == "files");
}

TEST_CASE("command line: the manual page has every command and option")
{
    const auto manual = offline({"manual"});
    CHECK(manual.code == 0);
    CHECK(manual.err.empty());
    std::string text =
        std::regex_replace(manual.out, std::regex("\\\\f[BIR]"), "");
    text = std::regex_replace(text, std::regex("\\\\-"), "-");
    for (const auto& command : all_commands()) {
        std::string name = command.front();
        if (command.size() > 1) {
            name += ' ' + command.back();
        }
        INFO(name);
        CHECK(contains(text, ".SS " + name));
        auto words = command;
        words.push_back("--");
        for (const auto& option : complete(words)) {
            INFO(option);
            CHECK((option == "--help" || contains(text, option)));
        }
    }
    CHECK(contains(text, "PETSTORE_REDIS"));
    CHECK(contains(text, "EXIT STATUS"));
    CHECK(contains(text, "Also key ls."));
    CHECK(contains(text, "Also key revoke."));
}
