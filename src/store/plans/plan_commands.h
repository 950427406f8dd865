#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/plan.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../schema.h"

namespace petstore::store {

// "<minute> <day>" or "<minute> <day> <month>", in plain decimals. A month of 0
// is none. Ignores further numbers, which a later version may have added.
std::optional<api::Limits> parse_limits(std::string_view text) noexcept;
std::string limits_text(const api::Limits& limits);

// The plans in Redis.
struct StoredPlans {
    api::NamedLimits plans;
    // Fields that are not a plan's name, or have other values than its limits;
    // any text.
    std::vector<std::string> damaged;
    // None of them counts: the key has another type, or more plans than
    // petstorectl accepts.
    bool all_damaged = false;

    bool is_damaged() const noexcept { return all_damaged || !damaged.empty(); }
};

// Reads the plans in Redis: all at once, and never more than fit into one
// reply.
class PlanCommands {
public:
    static constexpr std::size_t kMaxPlans = 1000;
    // remove_plan() may put back some beyond that.
    static constexpr std::size_t kMaxRead = 1010;

    explicit PlanCommands(const Schema& schema) : schema_(schema) {}

    std::string name() const { return schema_.plans(); }
    redis::Command read() const;

    // The reply, or the error that the key has another type. Throws
    // std::bad_alloc.
    static StoredPlans parse(const redis::Reply& reply);

private:
    const Schema& schema_;
};

}  // namespace petstore::store
