#include "administration_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "text.h"

namespace petstore::api {

namespace {

using Json = nlohmann::ordered_json;

// Any program may have written a label, so it may not be UTF-8.
std::string text_of(const Json& object)
{
    return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_text(const std::string& text)
{
    return text.empty() ? Json(nullptr) : Json(text);
}

template <typename T>
Json json_number(const std::optional<T>& number)
{
    return number ? Json(*number) : Json(nullptr);
}

Json json_date(const std::optional<Day>& day)
{
    return day ? Json(iso_date(*day)) : Json(nullptr);
}

}  // namespace

std::string account_json(const AccountRecord& account,
                         std::optional<Day> last_used)
{
    return text_of({
        {"id", account.id},
        {"external_id", json_text(account.external_id)},
        {"label", json_text(account.label)},
        {"plan", account.plan.empty() ? "free" : account.plan},
        {"per_minute", json_number(account.per_minute)},
        {"per_day", json_number(account.per_day)},
        {"per_month", json_number(account.per_month)},
        {"disabled", account.disabled},
        {"created", iso_time(account.created)},
        {"last_used", json_date(last_used)},
    });
}

std::string_view key_state(const KeyRecord& key, bool unfinished,
                           const AccountRecord& account, UnixTime now) noexcept
{
    if (unfinished) {
        return "unfinished";
    }
    if (key.disabled || account.disabled) {
        return "disabled";
    }
    return key.usable_at(now) ? "usable" : "expired";
}

std::string key_json(const KeyRecord& key, const AccountRecord& account,
                     const PlanTable& plans, std::string_view state)
{
    const PlanInForce plan = plans.plan_in_force(key, account);
    return text_of({
        {"id", key.id},
        {"account", key.account},
        {"external_id", json_text(account.external_id)},
        {"plan", plan.plan},
        {"per_minute", json_number(plan.per_minute)},
        {"per_day", json_number(plan.per_day)},
        {"per_month", json_number(plan.per_month)},
        {"overrides", plan.overrides},
        {"label", json_text(key.label)},
        {"scopes", scope_names(key)},
        {"created", iso_time(key.created)},
        {"expires", key.expires ? Json(iso_time(*key.expires)) : Json(nullptr)},
        {"disabled", key.disabled},
        {"state", state},
        {"last4", json_text(key.last4)},
    });
}

std::string usage_json(const AccountUsage& usage, const PlanTable& plans,
                       const UsagePeriod& period)
{
    const AccountRecord& account = usage.account;
    const PlanInForce plan = plans.plan_in_force({}, account);
    Json windows = Json::array();
    for (const auto& [name, window] : usage_windows(usage, plan.limits)) {
        windows.push_back({{"window", name},
                           {"limit", window.limit},
                           {"used", window.used},
                           {"remaining", window.remaining()},
                           {"reset", seconds_up(window.reset)}});
    }
    const bool by_month = period.step == UsagePeriod::Step::month;
    Json counts = Json::array();
    for (const UsageCount& count : usage_counts(usage, period)) {
        counts.push_back(
            {{by_month ? "month" : "date",
              by_month ? iso_month(count.start) : iso_date(count.start)},
             {"admitted", count.admitted},
             {"denied", count.denied}});
    }
    return text_of({
        {"account", account.id},
        {"external_id", json_text(account.external_id)},
        {"label", json_text(account.label)},
        {"plan", plan.plan},
        {"windows", std::move(windows)},
        {"last_used", json_date(usage.last_used)},
        {by_month ? "months" : "days", std::move(counts)},
    });
}

// Not with Json, whose destructor allocates, and ends the worker if it cannot.
std::string own_usage_json(const AccountUsage& usage, std::string_view plan,
                           const Limits& limits)
{
    const Day today = day_of(usage.now / 1000);
    std::string json = R"({"account":)";
    append_json_string(json, usage.account.id);
    append_json_string(json.append(R"(,"plan":)"), plan);
    json.append(R"(,"windows":[)");
    for (const auto& [name, window] : usage_windows(usage, limits)) {
        json.append(json.back() == '[' ? "" : ",");
        append_json_string(json.append(R"({"window":)"), name);
        append_int(json.append(R"(,"limit":)"), window.limit);
        append_int(json.append(R"(,"used":)"), window.used);
        append_int(json.append(R"(,"remaining":)"), window.remaining());
        append_int(json.append(R"(,"reset":)"), seconds_up(window.reset));
        json.push_back('}');
    }
    append_int(json.append(R"(],"today":)"), admitted_on(usage, today));
    append_int(json.append(R"(,"month":)"), admitted_in_month(usage, today));
    json.append(R"(,"last_used":)");
    if (usage.last_used) {
        append_json_string(json, iso_date(*usage.last_used));
    } else {
        json.append("null");
    }
    return json.append("}");
}

}  // namespace petstore::api
