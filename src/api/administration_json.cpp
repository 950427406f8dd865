#include "administration_json.h"

#include "json_writer.h"
#include "text.h"

namespace petstore::api {

namespace {

// Of an own plan or of one in force.
template <typename Numbers>
void write_numbers(JsonWriter& object, const Numbers& numbers)
{
    object.number_or_null("per_minute", numbers.per_minute);
    object.number_or_null("per_day", numbers.per_day);
    object.number_or_null("per_month", numbers.per_month);
}

void write_windows(std::string& out, const AccountUsage& usage,
                   const Limits& limits)
{
    JsonWriter windows(out, '[');
    for (const auto& [name, window] : usage_windows(usage, limits)) {
        JsonWriter object(windows.next());
        object.text("window", name);
        object.number("limit", window.limit);
        object.number("used", window.used);
        object.number("remaining", window.remaining());
        object.number("reset", seconds_up(window.reset));
        object.end();
    }
    windows.end(']');
}

void write_counts(std::string& out, const AccountUsage& usage,
                  const UsagePeriod& period)
{
    JsonWriter counts(out, '[');
    for (const UsageCount& count : usage_counts(usage, period)) {
        JsonWriter object(counts.next());
        if (period.step == UsagePeriod::Step::month) {
            object.text("month", iso_month(count.start));
        } else {
            object.text("date", iso_date(count.start));
        }
        object.number("admitted", count.admitted);
        object.number("denied", count.denied);
        object.end();
    }
    counts.end(']');
}

}  // namespace

std::string account_json(const AccountRecord& account,
                         std::optional<Day> last_used)
{
    std::string json;
    JsonWriter object(json);
    object.text("id", account.id);
    object.text_or_null("external_id", account.external_id);
    object.text_or_null("label", account.label);
    object.text_or_null("plan", account.plan.empty() ? "free" : account.plan);
    write_numbers(object, account);
    object.flag("disabled", account.disabled);
    object.text("created", iso_time(account.created));
    object.date_or_null("last_used", last_used);
    object.end();
    return json;
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
                     const PlanTable& plans, std::string_view state,
                     std::string_view secret)
{
    const PlanInForce plan = plans.plan_in_force(key, account);
    std::string json;
    JsonWriter object(json);
    object.text("id", key.id);
    object.text("account", key.account);
    object.text_or_null("external_id", account.external_id);
    object.text_or_null("plan", plan.plan);
    write_numbers(object, plan);
    object.flag("overrides", plan.overrides);
    object.text_or_null("label", key.label);
    JsonWriter scopes(object.named("scopes"), '[');
    for (const std::string_view scope : scope_names(key)) {
        append_json_string(scopes.next(), scope);
    }
    scopes.end(']');
    object.text("created", iso_time(key.created));
    object.text_or_null("expires", key.expires ? iso_time(*key.expires) : "");
    object.flag("disabled", key.disabled);
    object.text("state", state);
    object.text_or_null("last4", key.last4);
    if (!secret.empty()) {
        object.text("key", secret);
    }
    object.end();
    return json;
}

std::string plan_json(std::string_view name, const Limits& limits,
                      std::string_view source)
{
    const auto number = [](std::int64_t limit) {
        return limit != 0 ? std::optional(limit) : std::nullopt;
    };
    std::string json;
    JsonWriter object(json);
    object.text("name", name);
    object.number_or_null("per_minute", number(limits.minute));
    object.number_or_null("per_day", number(limits.day));
    object.number_or_null("per_month", number(limits.month));
    object.text("source", source);
    object.end();
    return json;
}

std::string usage_json(const AccountUsage& usage, const PlanTable& plans,
                       const UsagePeriod& period)
{
    const AccountRecord& account = usage.account;
    const PlanInForce plan = plans.plan_in_force({}, account);
    std::string json;
    JsonWriter object(json);
    object.text("account", account.id);
    object.text_or_null("external_id", account.external_id);
    object.text_or_null("label", account.label);
    object.text_or_null("plan", plan.plan);
    write_windows(object.named("windows"), usage, plan.limits);
    object.date_or_null("last_used", usage.last_used);
    const bool by_month = period.step == UsagePeriod::Step::month;
    write_counts(object.named(by_month ? "months" : "days"), usage, period);
    object.end();
    return json;
}

std::string own_usage_json(const AccountUsage& usage, std::string_view plan,
                           const Limits& limits)
{
    const Day today = day_of(usage.now / 1000);
    std::string json;
    JsonWriter object(json);
    object.text("account", usage.account.id);
    object.text_or_null("plan", plan);
    write_windows(object.named("windows"), usage, limits);
    object.number("today", admitted_on(usage, today));
    object.number("month", admitted_in_month(usage, today));
    object.date_or_null("last_used", usage.last_used);
    object.end();
    return json;
}

}  // namespace petstore::api
