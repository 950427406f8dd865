#include "plan.h"

#include <algorithm>
#include <utility>

namespace petstore::api {
namespace {

constexpr std::string_view kEnterprise = "enterprise";

// Clamps to the range in which counting is exact: any program may have written
// the key record.
std::int64_t in_range(std::int64_t number) noexcept
{
    return std::clamp<std::int64_t>(number, 0, kMaxLimit);
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

Limits PlanTable::limits_of(const KeyRecord& key) const noexcept
{
    auto plan = plans_.find(key.plan);
    if (plan == plans_.end()) {
        plan = plans_.find(std::string_view("free"));
    }
    Limits limits = plan->second;
    if (key.per_minute) {
        limits.minute = in_range(*key.per_minute);
    }
    if (key.per_day) {
        limits.day = in_range(*key.per_day);
    }
    return limits;
}

}  // namespace petstore::api
