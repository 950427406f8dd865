#include "slot.h"

#include <algorithm>

namespace petstore::metrics {

namespace {

constexpr std::array<std::string_view, index_of(Operation::count)> kOperations =
    {"listPets", "createPet", "getPet", "openapi", "options",
     "guard",    "admin",     "usage",  "other"};

// By LimitStatus.
constexpr std::array<std::string_view, api::kLimitStatuses> kVerdicts = {
    "passed",      "limited",         "banned",        "denied",
    "unavailable", "limited_dry_run", "banned_dry_run"};

constexpr std::array<std::string_view, index_of(Failure::count)> kFailures = {
    "resolve", "connect", "tls",      "login", "replica",
    "closed",  "timeout", "protocol", "error", "other"};

}  // namespace

std::string_view to_string(Operation operation) noexcept
{
    return kOperations[index_of(operation)];
}

std::string_view label_of(api::LimitStatus status) noexcept
{
    return kVerdicts[index_of(status)];
}

std::string_view to_string(Failure failure) noexcept
{
    return kFailures[index_of(failure)];
}

std::size_t status_index(std::uint32_t status) noexcept
{
    const auto* const found =
        std::lower_bound(kStatuses.begin(), kStatuses.end(), status);
    return found != kStatuses.end() && *found == status
               ? static_cast<std::size_t>(found - kStatuses.begin())
               : kStatuses.size();
}

}  // namespace petstore::metrics
