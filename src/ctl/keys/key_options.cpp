#include "key_options.h"

#include <string_view>
#include <vector>

#include "../../api/date.h"
#include "../../api/pet.h"
#include "../../api/plan.h"
#include "../../api/text.h"
#include "../../store/accounts/account_administration.h"
#include "../command_line/words.h"
#include "../exit.h"
#include "../terminal/escape.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

void set_number(const std::optional<std::string>& option, const char* name,
                std::optional<std::int64_t>& number)
{
    if (!option) {
        return;
    }
    number.reset();
    if (*option == "none") {
        return;
    }
    number = api::parse_int64(*option);
    if (!number || *number < 1 || *number > api::kMaxLimit) {
        throw UsageError(std::string(name) + " must be a number from 1 to "
                         + std::to_string(api::kMaxLimit) + ", or none");
    }
}

void check_plan(const std::string& plan)
{
    if (!api::is_plan_name(plan)) {
        throw UsageError(
            "--plan must be 1 to 32 lower-case letters, digits, \"_\" or \"-\"");
    }
}

}  // namespace

void KeyOptions::add_to(CLI::App& command)
{
    command
        .add_option(
            "--plan", plan,
            "free, pro, business, enterprise, or a plan of your nginx.conf")
        ->type_name("PLAN");
    command
        .add_option(
            "--per-minute", per_minute,
            "Limit per minute, instead of the plan's (none: the plan's)")
        ->type_name("N");
    command
        .add_option("--per-day", per_day,
                    "Limit per day, instead of the plan's (none: the plan's)")
        ->type_name("N");
    command.add_option("--label", label, "Text to recognise the key by")
        ->type_name("TEXT");
    command
        .add_option(
            "--expires", expires,
            "When the key ends: 2030-12-31 (0:00 UTC), 2030-12-31T12:00:00+01:00, or in 30d (none: never)")
        ->type_name("DATE");
    command
        .add_option("--scopes", scopes,
                    "read, write, and others; without this option, read,write")
        ->type_name("SCOPES");
}

bool KeyOptions::any() const noexcept
{
    return plan || per_minute || per_day || label || expires || scopes;
}

void KeyOptions::check() const
{
    api::KeyRecord scratch;
    apply(scratch, 0);
}

void KeyOptions::apply(api::KeyRecord& record, api::UnixTime now) const
{
    if (plan) {
        check_plan(*plan);
        record.plan = *plan;
    }
    set_number(per_minute, "--per-minute", record.per_minute);
    set_number(per_day, "--per-day", record.per_day);
    if (label) {
        const char* wrong =
            label->empty() ? nullptr : api::name_problem(*label);
        if (wrong) {
            throw UsageError(std::string("--label ") + wrong);
        }
        if (has_bidi_control(*label)) {
            throw UsageError(
                "--label must not contain characters that reorder text");
        }
        record.label = *label;
    }
    if (expires) {
        record.expires.reset();
        if (*expires != "none") {
            record.expires = moment_option("--expires", *expires, now);
        }
    }
    if (scopes) {
        if (!api::set_scopes(record, *scopes)) {
            throw UsageError(
                "--scopes must be up to " + std::to_string(api::kMaxScopes)
                + " names of 1 to 64 lower-case letters, digits and \":._-\", separated by commas");
        }
    }
}

api::UnixTime now_of(Context& context, const store::KeyServers& servers)
{
    store::AccountAdministration accounts(servers);
    return context.await<api::UnixTime>(
        [&](auto& waiter) { accounts.now(waiter); });
}

api::UnixTime moment_option(const char* name, const std::string& value,
                            api::UnixTime now)
{
    const auto moment = api::parse_moment(value, now);
    if (!moment) {
        throw UsageError(
            std::string(name)
            + " must be a date like 2030-12-31, a time like 2030-12-31T12:00:00Z, or a duration from now like 30d, at most 36500d");
    }
    return *moment;
}

void check_record(const api::KeyRecord& record, api::UnixTime now)
{
    if (record.plan == "enterprise"
        && (!record.per_minute || !record.per_day)) {
        throw UsageError(
            "the plan enterprise needs --per-minute and --per-day");
    }
    const api::PlanTable plans;
    const api::PlanInForce plan = plans.plan_in_force(record, {});
    if (!plans.knows(plan.plan)) {
        static const std::vector<std::string> kBuiltIn = {
            "free", "pro", "business", "enterprise"};
        const std::string_view meant = closest(record.plan, kBuiltIn);
        warn("the plan " + record.plan
             + " is not built in: until nginx.conf has \"petstore_plan "
             + record.plan + " …\" the key counts as free"
             + (meant.empty()
                    ? ""
                    : ". Did you mean '" + std::string(meant) + "'?"));
    }
    const api::Limits& limits = plan.limits;
    if ((plans.knows(plan.plan) || (record.per_minute && record.per_day))
        && limits.minute > limits.day) {
        warn("the limit of " + std::to_string(limits.minute)
             + " per minute exceeds that of " + std::to_string(limits.day)
             + " per day");
    }
    if (record.expires && *record.expires <= now) {
        warn("the key has expired on " + api::iso_time(*record.expires));
    }
}

}  // namespace petstore::ctl
