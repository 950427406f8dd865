#include "help.h"

#include <string_view>
#include <vector>

#include "../exit.h"
#include "command_tree.h"

namespace petstore::ctl {

namespace {

// Escapes text for roff: dashes become minus signs, and no line is read as a
// request.
std::string roff_escaped(std::string_view text)
{
    std::string safe;
    for (const char c : text) {
        if (c == '-') {
            safe += "\\-";
        } else if (c == '\\') {
            safe += "\\e";
        } else if ((c == '.' || c == '\'')
                   && (safe.empty() || safe.back() == '\n')) {
            safe += "\\&";
            safe += c;
        } else {
            safe += c;
        }
    }
    return safe;
}

std::string roff_bold(std::string_view text)
{
    return "\\fB" + roff_escaped(text) + "\\fR";
}

std::string roff_italic(std::string_view text)
{
    return "\\fI" + roff_escaped(text) + "\\fR";
}

class Page {
public:
    void line(const std::string& text) { text_ += text + '\n'; }

    void section(const std::string& title, const std::string& text = "")
    {
        line(".SH " + title);
        if (!text.empty()) {
            line(roff_escaped(text));
        }
    }

    void item(const std::string& term, std::string_view text)
    {
        line(".TP");
        line(term);
        line(roff_escaped(text));
    }

    void examples(const std::vector<std::string>& examples)
    {
        if (examples.empty()) {
            return;
        }
        line(".PP");
        line(examples.size() == 1 ? "Example:" : "Examples:");
        line(".PP");
        line(".RS");
        line(".nf");
        for (const std::string& example : examples) {
            line(roff_escaped(example));
        }
        line(".fi");
        line(".RE");
    }

    void options(const CLI::App& app)
    {
        for (const CLI::Option* argument : arguments_of(app)) {
            item(roff_italic(value_name(*argument)),
                 argument->get_description());
        }
        for (const CLI::Option* option : options_of(app)) {
            if (option == app.get_help_ptr()) {
                continue;
            }
            std::string term;
            for (const std::string& name : option->get_snames()) {
                term += (term.empty() ? "" : ", ") + roff_bold("-" + name);
            }
            for (const std::string& name : option->get_lnames()) {
                term += (term.empty() ? "" : ", ") + roff_bold("--" + name);
            }
            if (takes_value(*option)) {
                term += ' ' + roff_italic(value_name(*option));
            }
            std::string text = option->get_description();
            if (!option->get_default_str().empty()) {
                text += " (default: " + option->get_default_str() + ")";
            }
            item(term, text);
        }
    }

    void command(const CLI::App& app, const std::string& path)
    {
        std::string title = roff_bold(path);
        bool has_options = false;
        for (const CLI::Option* option : options_of(app)) {
            has_options |= option != app.get_help_ptr();
        }
        if (has_options) {
            title += " [" + roff_italic("OPTIONS") + ']';
        }
        for (const CLI::Option* argument : arguments_of(app)) {
            const std::string name = roff_italic(value_name(*argument));
            title += argument->get_required() ? ' ' + name : " [" + name + ']';
        }
        line(".SS " + title);
        line(roff_escaped(app.get_description()) + '.');
        for (const std::string& alias : app.get_aliases()) {
            const std::size_t space = path.rfind(' ') + 1;
            line("Also " + roff_bold(path.substr(0, space) + alias) + '.');
        }
        options(app);
        examples(examples_of(path));
    }

    void commands(const CLI::App& app, const std::string& path)
    {
        for (const CLI::App* each : commands_of(app)) {
            const std::string name =
                path.empty() ? each->get_name() : path + ' ' + each->get_name();
            if (commands_of(*each).empty()) {
                command(*each, name);
            } else {
                commands(*each, name);
            }
        }
    }

    std::string take() { return std::move(text_); }

private:
    std::string text_;
};

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version)
{
    Page page;
    page.line(".TH PETSTORECTL 1 \"\" \"" + version + "\" \"User Commands\"");
    page.section("NAME", "petstorectl - manage an nginx petstore");
    page.section("SYNOPSIS");
    page.line(roff_bold("petstorectl") + " [" + roff_italic("OPTIONS") + "] "
              + roff_italic("COMMAND") + " [" + roff_italic("ARGUMENTS") + ']');
    page.section("DESCRIPTION", app.get_description());
    page.line(".PP");
    page.line(roff_escaped(
        "Data goes to standard output, everything else to standard error. No message repeats an argument that could be an API key. Every command can be interrupted and run again."));

    page.section("COMMANDS");
    page.commands(app, "");

    page.section("OPTIONS",
                 "These options can be given before or after the command.");
    page.options(app);

    page.section("ENVIRONMENT");
    for (const CLI::Option* option : options_of(app)) {
        if (!option->get_envname().empty()) {
            page.item(roff_bold(option->get_envname()),
                      "Default of --" + option->get_lnames().front() + ".");
        }
    }
    page.item(roff_bold("REDISCLI_AUTH"),
              "The password of a URL that has none.");

    page.section("EXIT STATUS");
    page.item(roff_bold("0"), "Success.");
    page.item(roff_bold("1"), "The command failed.");
    page.item(roff_bold("2"), "Usage error, an invalid value for example.");
    page.item(roff_bold("3"), "There is no such key, account, plan or pet.");
    page.item(roff_bold("4"), "Redis is away, or refuses a command.");
    page.line(".PP");
    std::string codes = kUsage.code;
    for (const auto& row : kCategories) {
        codes.append(", ").append(row.category.code);
    }
    codes.append(" or ").append(kFailed.code);
    page.line(roff_escaped(
        "With --json, an error is a JSON object on standard error, with the members code ("
        + codes + ") and message."));
    page.section("EXAMPLES");
    page.examples(examples_of(""));
    page.section("SEE ALSO");
    page.line(roff_escaped(
        "redis-cli(1), nginx(8), and the documentation in /usr/share/doc/libnginx-mod-http-petstore."));
    return page.take();
}

}  // namespace petstore::ctl
