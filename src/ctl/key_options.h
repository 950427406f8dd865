#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../api/key.h"

namespace petstore::ctl {

// The properties of a key as options of create, import and set; those not
// given stay as they are. "none" takes a number or date away.
struct KeyOptions {
    std::optional<std::string> plan;
    std::optional<std::string> per_minute;
    std::optional<std::string> per_day;
    std::optional<std::string> label;
    std::optional<std::string> expires;
    std::optional<std::string> scopes;

    void add_to(CLI::App& command);
    bool any() const noexcept;

    // Throws UsageError for values that no key can have.
    void apply(api::KeyRecord& record) const;
};

// What can only be judged of the whole record. Throws UsageError for one that
// would not work, and warns of one that may surprise.
void check_record(const api::KeyRecord& record, api::UnixTime now);

}  // namespace petstore::ctl
