#include "slot.h"

#include <algorithm>

namespace petstore::metrics {

namespace {

constexpr std::array<std::string_view, index_of(Operation::count)> kOperations =
    {"listPets", "createPet", "getPet", "openapi", "options",
     "guard",    "admin",     "usage",  "other"};

struct VerdictName {
    std::string_view limit_status;
    std::string_view label;
};
constexpr std::array<VerdictName, index_of(Verdict::count)> kVerdicts = {{
    {"PASSED", "passed"},
    {"LIMITED", "limited"},
    {"BANNED", "banned"},
    {"DENIED", "denied"},
    {"UNAVAILABLE", "unavailable"},
    {"LIMITED_DRY_RUN", "limited_dry_run"},
    {"BANNED_DRY_RUN", "banned_dry_run"},
}};

constexpr std::array<std::string_view, index_of(Failure::count)> kFailures = {
    "resolve", "connect", "tls",      "login", "replica",
    "closed",  "timeout", "protocol", "error", "other"};

}  // namespace

std::string_view to_string(Operation operation) noexcept
{
    return kOperations[index_of(operation)];
}

std::string_view to_string(Verdict verdict) noexcept
{
    return kVerdicts[index_of(verdict)].label;
}

std::string_view to_string(Failure failure) noexcept
{
    return kFailures[index_of(failure)];
}

Verdict verdict_of(std::string_view limit_status) noexcept
{
    std::size_t i = 0;
    while (i < kVerdicts.size() && kVerdicts[i].limit_status != limit_status) {
        ++i;
    }
    return static_cast<Verdict>(i);
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
