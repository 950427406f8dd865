#include "plan_listing.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace petstore::store {

namespace {

std::string words_of(const api::Limits& limits)
{
    std::string words = std::to_string(limits.minute) + " per minute, "
                        + std::to_string(limits.day) + " per day";
    if (limits.has_month()) {
        words += ", " + std::to_string(limits.month) + " per month";
    }
    return words;
}

std::string words_of(const HostPlans& host)
{
    return host.name + " (" + host.configuration + ')';
}

}  // namespace

std::string_view to_string(PlanSource source) noexcept
{
    switch (source) {
    case PlanSource::built_in:
        return "built-in";
    case PlanSource::configuration:
        return "nginx.conf";
    case PlanSource::redis:
        return "redis";
    }
    return "";
}

KnownPlans::KnownPlans(StoredPlans stored, std::vector<HostPlans> hosts,
                       bool hosts_unread)
    : stored_(std::move(stored)), hosts_unread_(hosts_unread),
      hosts_(std::move(hosts))
{
    std::sort(hosts_.begin(), hosts_.end(),
              [](const HostPlans& a, const HostPlans& b) {
                  return std::tie(a.name, a.configuration)
                         < std::tie(b.name, b.configuration);
              });
    const auto define = [&](const std::string& name, const api::Limits& limits,
                            PlanSource source) {
        plans_[name] = {limits, source};
        table_.set(name, limits);
    };
    plans_[std::string(api::kEnterprise)] = {};
    for (const auto& [name, limits] : table_.plans()) {
        plans_[name] = {limits, PlanSource::built_in};
    }
    for (auto host = hosts_.rbegin(); host != hosts_.rend(); ++host) {
        for (const auto& [name, limits] : host->plans) {
            define(name, limits, PlanSource::configuration);
        }
    }
    for (const auto& [name, limits] : stored_.plans) {
        define(name, limits, PlanSource::redis);
    }
}

bool KnownPlans::defined_without_redis(std::string_view name) const
{
    const auto defines = [&](const api::NamedLimits& plans) {
        return plans.find(name) != plans.end();
    };
    return defines(api::PlanTable().plans())
           || std::any_of(
               hosts_.begin(), hosts_.end(),
               [&](const HostPlans& host) { return defines(host.plans); });
}

std::vector<std::string> KnownPlans::differences() const
{
    const api::PlanTable built_in;
    std::vector<std::string> differences;
    for (const auto& [name, plan] : plans_) {
        // What hosts use → the first of them.
        std::map<std::string, const HostPlans*> definitions;
        for (const HostPlans& host : hosts_) {
            const auto own = host.plans.find(name);
            const auto other = built_in.plans().find(name);
            definitions.emplace(own != host.plans.end() ? words_of(own->second)
                                : other != built_in.plans().end()
                                    ? words_of(other->second)
                                    : "not defined",
                                &host);
        }
        if (plan.source != PlanSource::configuration
            || definitions.size() < 2) {
            continue;
        }
        std::string text = name + ": ";
        for (const auto& [definition, host] : definitions) {
            text.append(text.back() == ' ' ? "" : "; ")
                .append(definition + " on " + words_of(*host));
        }
        differences.push_back(std::move(text));
    }
    return differences;
}

std::vector<std::string> KnownPlans::overridden() const
{
    std::vector<std::string> overridden;
    for (const HostPlans& host : hosts_) {
        for (const auto& [name, limits] : host.plans) {
            const auto stored = stored_.plans.find(name);
            if (stored != stored_.plans.end() && !(stored->second == limits)) {
                overridden.push_back(name + ": " + words_of(stored->second)
                                     + " instead of " + words_of(limits)
                                     + " on " + words_of(host));
            }
        }
    }
    return overridden;
}

}  // namespace petstore::store
