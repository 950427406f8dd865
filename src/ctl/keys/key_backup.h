#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

// `key export`: the records of all keys as NDJSON, with the SHA-256 of each key
// instead of the key.
void export_keys(Context& context);

struct KeyRestore {
    std::string file;

    void add_to(CLI::App& command)
    {
        command.add_option("FILE", file, "- is standard input")->required();
    }
};

// `key restore`: adds the keys of such a file that do not exist.
void restore_keys(Context& context, const KeyRestore& options);

}  // namespace petstore::ctl
