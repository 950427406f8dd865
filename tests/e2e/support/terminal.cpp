#include "terminal.h"

#include <regex>

namespace petstore::e2e {

Output on_terminal(const std::string& redis, const std::string& arguments,
                   const std::string& input, const Words& env, int columns)
{
    std::string command =
        "stty cols " + std::to_string(columns) + " && exec env TERM=xterm";
    for (const auto& each : env) {
        command += ' ' + each;
    }
    command += ' ' + ctl_binary() + " --redis '" + redis + "' " + arguments;
    return run({"script", "-qec", command, "/dev/null"}, input);
}

std::string without_colours(const std::string& text)
{
    return std::regex_replace(text, std::regex("\x1b\\[[0-9]*m"), "");
}

}  // namespace petstore::e2e
