#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/plan.h"
#include "host_record.h"
#include "plan_commands.h"

namespace petstore::store {

enum class PlanSource { built_in, configuration, redis };

// "built-in", "nginx.conf" or "redis"
std::string_view to_string(PlanSource source) noexcept;

struct KnownPlan {
    api::Limits limits;  // none for enterprise, unless something defines it
    PlanSource source = PlanSource::built_in;
};

// All plans, wherever they are defined. For one name, Redis wins over hosts,
// and hosts over what is built in; of hosts that differ, the first by name.
class KnownPlans {
public:
    // Throws std::bad_alloc.
    explicit KnownPlans(StoredPlans stored = {},
                        std::vector<HostPlans> hosts = {},
                        bool hosts_unread = false);

    const std::map<std::string, KnownPlan, std::less<>>& plans() const noexcept
    {
        return plans_;
    }
    const api::PlanTable& table() const noexcept { return table_; }

    // Of all hosts that are not gone, by name and configuration.
    const std::vector<HostPlans>& hosts() const noexcept { return hosts_; }
    // The server of a Cluster that has them is away, so hosts() is empty.
    bool hosts_unread() const noexcept { return hosts_unread_; }

    // The plans in Redis that do not count.
    const StoredPlans& stored() const noexcept { return stored_; }

    // Whether a plan has a definition besides that in Redis. The built-in
    // enterprise is none: it has no limits.
    bool defined_without_redis(std::string_view name) const;

    // In words: the plans that hosts define differently, unless Redis overrides
    // them, and those of hosts that Redis overrides with other limits.
    std::vector<std::string> differences() const;
    std::vector<std::string> overridden() const;

private:
    StoredPlans stored_;
    bool hosts_unread_;
    std::vector<HostPlans> hosts_;
    std::map<std::string, KnownPlan, std::less<>> plans_;
    api::PlanTable table_;
};

}  // namespace petstore::store
