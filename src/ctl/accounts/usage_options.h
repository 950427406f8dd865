#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../../api/usage.h"

namespace petstore::ctl {

// The options of `usage`.
struct UsageOptions {
    std::vector<std::string> accounts;
    std::vector<std::string> external_ids;
    std::optional<std::string> from;
    std::optional<std::string> to;
    std::optional<std::string> last;
    std::string by = "day";
    std::optional<std::string> over;
    bool csv = false;

    void add_to(CLI::App& command);

    // These throw UsageError for an invalid value.
    api::UsagePeriod period(api::UnixTime now) const;
    std::optional<int> percent() const;
};

}  // namespace petstore::ctl
