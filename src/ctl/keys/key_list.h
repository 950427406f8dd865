#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../accounts/account_name.h"
#include "../command_line/context.h"

namespace petstore::ctl {

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

}  // namespace petstore::ctl
