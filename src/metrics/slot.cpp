#include "slot.h"

#include <algorithm>

namespace petstore::metrics {

namespace {

constexpr std::array<std::string_view, index_of(RequestKind::count)>
    kRequestKinds = {"listPets", "createPet", "getPet", "openapi", "options",
                     "guard",    "admin",     "usage",  "other"};

// By LimitStatus.
constexpr std::array<std::string_view, api::kLimitStatuses> kVerdicts = {
    "passed",      "limited",         "banned",        "denied",
    "unavailable", "limited_dry_run", "banned_dry_run"};
static_assert(!kVerdicts.back().empty());

constexpr std::array<std::string_view, index_of(FailureCause::count)>
    kFailureCauses = {"resolve", "connect", "tls",      "login", "replica",
                      "closed",  "timeout", "protocol", "error", "other"};

}  // namespace

std::string_view to_string(RequestKind kind) noexcept
{
    return kRequestKinds[index_of(kind)];
}

std::string_view label_of(api::LimitStatus status) noexcept
{
    return kVerdicts[index_of(status)];
}

std::string_view to_string(FailureCause cause) noexcept
{
    return kFailureCauses[index_of(cause)];
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
