#include "plan.h"

#include <algorithm>
#include <utility>

namespace petstore::api {
namespace {

constexpr std::string_view kFree = "free";

// Clamps to the range in which counting is exact.
std::int64_t in_range(std::int64_t number, std::int64_t least) noexcept
{
    return std::clamp<std::int64_t>(number, least, kMaxLimit);
}

}  // namespace

bool is_plan_name(std::string_view name) noexcept
{
    constexpr std::size_t kMaxSize = 32;
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyz0123456789-_";
    return !name.empty() && name.size() <= kMaxSize
           && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool may_name_plan(std::string_view name) noexcept
{
    return is_plan_name(name) && name != "none" && name != "all"
           && name != "unknown";
}

PlanTable::PlanTable()
    : plans_{{"free", {60, 1'000}},
             {"pro", {300, 10'000}},
             {"business", {1'000, 100'000}}}
{}

void PlanTable::set(std::string name, Limits limits)
{
    plans_[std::move(name)] = limits;
}

std::vector<std::string> PlanTable::names() const
{
    std::vector<std::string> names;
    for (const auto& [name, limits] : plans_) {
        names.push_back(name);
    }
    if (plans_.find(kEnterprise) == plans_.end()) {
        names.emplace_back(kEnterprise);
    }
    return names;
}

bool PlanTable::knows(std::string_view name) const noexcept
{
    return name == kEnterprise || plans_.find(name) != plans_.end();
}

bool PlanTable::needs_numbers(std::string_view name) const noexcept
{
    return name == kEnterprise && plans_.find(name) == plans_.end();
}

const Limits& PlanTable::limits_of(std::string_view name) const noexcept
{
    const auto plan = plans_.find(name);
    return plan != plans_.end() ? plan->second : plans_.find(kFree)->second;
}

PlanInForce PlanTable::plan_in_force(const OwnPlan& key,
                                     const OwnPlan& account) const noexcept
{
    const bool own_plan = !key.plan.empty();
    const auto number = [&](std::optional<std::int64_t> OwnPlan::*window) {
        return key.*window || own_plan ? key.*window : account.*window;
    };
    PlanInForce result;
    result.plan = own_plan               ? key.plan
                  : account.plan.empty() ? kFree
                                         : std::string_view(account.plan);
    result.per_minute = number(&OwnPlan::per_minute);
    result.per_day = number(&OwnPlan::per_day);
    result.per_month = number(&OwnPlan::per_month);
    result.overrides =
        own_plan || key.per_minute || key.per_day || key.per_month;

    result.limits = limits_of(result.plan);
    if (result.per_minute) {
        result.limits.minute = in_range(*result.per_minute, 0);
    }
    if (result.per_day) {
        result.limits.day = in_range(*result.per_day, 0);
    }
    if (result.per_month) {  // 0 would be no limit
        result.limits.month = in_range(*result.per_month, 1);
    }
    return result;
}

}  // namespace petstore::api
