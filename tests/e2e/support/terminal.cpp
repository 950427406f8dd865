#include "terminal.h"

#include <pty.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <regex>

namespace petstore::e2e {

namespace {

const char kEndOfInput = '\4';  // Ctrl-D

// Until nobody has the terminal open.
std::string read_all(int terminal)
{
    std::string text;
    char part[4096];
    ssize_t size = 0;
    while ((size = read(terminal, part, sizeof(part))) > 0) {
        text.append(part, static_cast<std::size_t>(size));
    }
    return text;
}

}  // namespace

Output on_terminal(const std::string& redis, const std::string& arguments,
                   const std::string& input, const Words& env, int columns)
{
    std::string command = "exec env TERM=xterm";
    for (const auto& each : env) {
        command += ' ' + each;
    }
    command += ' ' + ctl_binary() + " --redis '" + redis + "' " + arguments;

    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    int keyboard = -1;
    int terminal = -1;
    if (openpty(&keyboard, &terminal, nullptr, nullptr, &size) != 0) {
        throw HarnessError("there is no terminal");
    }
    const std::string path = ttyname(terminal);
    Process process({{"sh", "-c", command},
                     sanitizer_options(Leaks::found),
                     path,
                     path,
                     path});
    auto shown = std::async(std::launch::async, read_all, keyboard);
    const std::string typed = input + kEndOfInput;
    const bool written = write(keyboard, typed.data(), typed.size())
                         == static_cast<ssize_t>(typed.size());
    const auto code = process.wait(120s);
    if (!code) {
        process.signal(SIGKILL);
    }
    close(terminal);
    const Output output{code.value_or(-1), shown.get(), ""};
    close(keyboard);
    if (!code || !written) {
        throw HarnessError("petstorectl does not end, or reads nothing");
    }
    expect_no_finding(arguments, output.out);
    return output;
}

std::string without_colours(const std::string& text)
{
    return std::regex_replace(text, std::regex("\x1b\\[[0-9]*m"), "");
}

}  // namespace petstore::e2e
