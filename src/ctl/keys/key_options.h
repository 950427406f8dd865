#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../../api/key.h"
#include "../command_line/context.h"

namespace petstore::ctl {

// The properties of a key, as options of create, import and set. An option not
// given leaves its property unchanged; "none" removes a limit or date.
struct KeyOptions {
    std::optional<std::string> plan;
    std::optional<std::string> per_minute;
    std::optional<std::string> per_day;
    std::optional<std::string> label;
    std::optional<std::string> expires;
    std::optional<std::string> scopes;

    void add_to(CLI::App& command);
    bool any() const noexcept;

    // Throw UsageError for an invalid value. `now`: for durations.
    void apply(api::KeyRecord& record, api::UnixTime now) const;
    void check() const;
};

// The time by the clock that decides when a key expires. Throws Failure.
api::UnixTime now_of(Context& context, const store::KeyServers& servers);

// The value of an option for a date. Throws UsageError.
api::UnixTime moment_option(const char* name, const std::string& value,
                            api::UnixTime now);

// Checks the whole record. Throws UsageError if the key would not work, and
// warns about surprising values.
void check_record(const api::KeyRecord& record, api::UnixTime now);

}  // namespace petstore::ctl
