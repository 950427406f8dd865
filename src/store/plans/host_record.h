#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/date.h"
#include "plan_commands.h"

namespace petstore::store {

// A host counts for this many seconds after it has published its plans.
inline constexpr std::int64_t kHostSeconds = 180;

// An nginx: its machine and its configuration.
struct Host {
    std::string name;
    std::string configuration;  // path
    std::string version;        // of the module
};

// What it publishes, and when by Redis's clock. Other programs may have written
// the texts, so escape them where they are shown.
struct HostPlans : Host {
    api::NamedLimits plans;
    api::UnixTime published = 0;
};

// The hash <prefix>:hosts has a field for each host, of this name, with the
// time and this JSON.
std::string host_field(const Host& host);
std::string host_json(const Host& host, const api::NamedLimits& plans);

// The value of such a field; nullopt if the module cannot have written it.
// Ignores members and numbers that a later version may have added. Throws
// std::bad_alloc.
std::optional<HostPlans> parse_host(std::string_view value);

}  // namespace petstore::store
