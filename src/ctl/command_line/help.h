#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

// The parts of help that have files of their own.

namespace petstore::ctl {

// The manual page petstorectl(1).
std::string manual_page(const CLI::App& app, const std::string& version);

// Examples of a command, such as "key create". Empty for groups of commands.
const std::vector<std::string>& examples_of(const std::string& command);

struct Candidate {
    std::string word;
    std::string description;
};

// The candidate that makes the shell complete file names.
inline constexpr char kFiles[] = ":files";

// The possible completions of the last of `words`, which may be empty. `words`
// is the command line up to the cursor, without the program's name.
std::vector<Candidate> complete(const CLI::App& app,
                                const std::vector<std::string>& words);

}  // namespace petstore::ctl
