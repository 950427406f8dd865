#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../accounts/account_name.h"
#include "../command_line/context.h"
#include "key_options.h"

namespace petstore::ctl {

// The commands of `key` that are not in key_commands.cpp.

// Those that create a key: `key create`, `key import` and `key rotate`. Also
// `key find`, which accepts a key like `key import`.

void create_key(Context& context, const NewKey& key);

struct ImportedKey {
    KeyArgument argument;
    NewKey key;

    void add_to(CLI::App& command)
    {
        argument.add_to(command);
        key.add_to(command);
    }
};
void import_key(Context& context, const ImportedKey& imported);

// Prints the id of a key.
void find_key(Context& context, const KeyArgument& argument);

struct KeyRotation {
    KeyId key;
    std::string grace = "24h";

    void add_to(CLI::App& command);
};
void rotate_key(Context& context, const KeyRotation& options);

// The filters of `key list`, all of which a key must pass.
struct KeyFilter {
    std::optional<std::string> plan;
    std::optional<std::string> state;
    NamedAccount account;
    std::optional<std::string> label;
    std::optional<std::string> expires_before;

    void add_to(CLI::App& command);
};
void list_keys(Context& context, const KeyFilter& filter);

// `key export`: the records of all keys as NDJSON, with the SHA-256 of each key
// instead of the key.
void export_keys(Context& context);

// `key restore`: adds the keys of such a file that do not exist.
struct KeyRestore {
    std::string file;

    void add_to(CLI::App& command)
    {
        command.add_option("FILE", file, "- is standard input")->required();
    }
};
void restore_keys(Context& context, const KeyRestore& options);

}  // namespace petstore::ctl
