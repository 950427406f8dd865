#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../../api/key.h"
#include "../accounts/account_name.h"
#include "../accounts/plan_options.h"

namespace petstore::ctl {

// The properties of a key, as options of create, import and set. An option not
// given leaves its property unchanged; "none" removes a plan, limit or date.
struct KeyOptions {
    PlanOptions plan;
    std::optional<std::string> label;
    std::optional<std::string> expires;
    std::optional<std::string> scopes;

    void add_to(CLI::App& command);
    bool any() const noexcept;

    // Throw UsageError for an invalid value. `now`: for durations.
    void apply(api::KeyRecord& record, api::UnixTime now) const;
    void check() const;
};

// What a new key is given.
struct NewKey {
    KeyOptions options;
    NamedAccount account;  // a new one if it is not given

    void add_to(CLI::App& command);
};

// An existing key on the command line: the key itself, or its SHA-256.
struct KeyArgument {
    std::string secret = "-";  // from standard input
    std::string sha256;

    void add_to(CLI::App& command);
};

struct KeyId {
    std::string id;

    void add_to(CLI::App& command, const char* help = "Id of the key")
    {
        command.add_option("ID", id, help)->required();
    }
};

// The value of an option for a date. Throws UsageError.
api::UnixTime moment_option(const char* name, const std::string& value,
                            api::UnixTime now);

// Warns about a key that has expired.
void warn_of_expiry(const api::KeyRecord& record, api::UnixTime now);

}  // namespace petstore::ctl
