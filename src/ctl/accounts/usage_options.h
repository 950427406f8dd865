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

    // These throw UsageError for an invalid value. `now`: Redis's time.
    api::UsagePeriod period(api::UnixTime now) const;
    // Of these options only what is wrong at any time.
    void check_period() const;
    std::optional<int> percent() const;

private:
    api::UsagePeriod given_period(api::UnixTime now) const;
};

}  // namespace petstore::ctl
