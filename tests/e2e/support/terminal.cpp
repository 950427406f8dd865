#include "terminal.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <regex>

namespace petstore::e2e {

namespace {

const char kEndOfInput = '\4';  // Ctrl-D

// Until the terminal closes because its last process has ended.
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
    std::string command = "exec timeout --foreground 120 env TERM=xterm";
    for (const auto& [name, value] : sanitizer_options(Leaks::found)) {
        command += " '" + name + '=' + value + '\'';
    }
    for (const auto& each : env) {
        command += ' ' + each;
    }
    command += ' ' + ctl_binary() + " --redis '" + redis + "' " + arguments;

    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    int terminal = -1;
    const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        _exit(127);
    }
    if (pid < 0) {
        throw HarnessError("there is no terminal");
    }
    const std::string typed = input + kEndOfInput;
    const bool written = write(terminal, typed.data(), typed.size())
                         == static_cast<ssize_t>(typed.size());
    Output output{-1, read_all(terminal), ""};
    close(terminal);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!written) {
        throw HarnessError("the terminal is full");
    }
    output.code =
        WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    expect_no_finding(arguments, output.out);
    return output;
}

std::string without_colours(const std::string& text)
{
    return std::regex_replace(text, std::regex("\x1b\\[[0-9]*m"), "");
}

}  // namespace petstore::e2e
