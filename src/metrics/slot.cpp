#include "slot.h"

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

// By status, up to the last of kStatuses.
constexpr auto kStatusIndexes = [] {
    std::array<std::uint8_t, kStatuses.back() + 1> indexes{};
    for (auto& index : indexes) {
        index = kStatuses.size();
    }
    for (std::size_t i = 0; i < kStatuses.size(); ++i) {
        indexes[kStatuses[i]] = static_cast<std::uint8_t>(i);
    }
    return indexes;
}();

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
    return status < kStatusIndexes.size() ? kStatusIndexes[status]
                                          : kStatuses.size();
}

std::string status_text(std::size_t index)
{
    return index < kStatuses.size() ? std::to_string(kStatuses[index])
                                    : "other";
}

}  // namespace petstore::metrics
