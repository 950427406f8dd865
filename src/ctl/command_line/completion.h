#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace petstore::ctl {

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
