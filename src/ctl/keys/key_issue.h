#pragma once

#include <string>

#include "../command_line/context.h"
#include "key_options.h"

namespace petstore::ctl {

// The commands that create a key: `key create`, `key import` and `key rotate`.
// Also `key find`, which accepts a key like `key import`.

void create_key(Context& context, const NewKey& key);

struct ImportedKey {
    Secret secret;
    NewKey key;

    void add_to(CLI::App& command)
    {
        secret.add_to(command);
        key.add_to(command);
    }
};
void import_key(Context& context, const ImportedKey& imported);

// Prints the id of a key.
void find_key(Context& context, const Secret& secret);

struct KeyRotation {
    KeyId key;
    std::string grace = "24h";

    void add_to(CLI::App& command);
};
void rotate_key(Context& context, const KeyRotation& options);

}  // namespace petstore::ctl
