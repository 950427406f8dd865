#include "api/plan.h"

#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

OwnPlan plan_of(const char* name)
{
    OwnPlan own;
    own.plan = name;
    return own;
}

Limits limits_of(const PlanTable& plans, const OwnPlan& account)
{
    return plans.plan_in_force({}, account).limits;
}

// "plan minute day month"; "-" where there is none. The texts stay valid.
OwnPlan parse(const std::string& text)
{
    OwnPlan own;
    std::size_t start = 0;
    const auto next = [&] {
        const std::size_t end = std::min(text.find(' ', start), text.size());
        auto word = text.substr(start, end - start);
        start = end + 1;
        return word == "-" ? "" : word;
    };
    const auto number = [&]() -> std::optional<std::int64_t> {
        const auto word = next();
        return word.empty() ? std::nullopt
                            : std::optional<std::int64_t>(std::stoll(word));
    };
    own.plan = next();
    own.per_minute = number();
    own.per_day = number();
    own.per_month = number();
    return own;
}

std::string text(const std::optional<std::int64_t>& number)
{
    return number ? std::to_string(*number) : "-";
}

}  // namespace

TEST_CASE("the built-in plans", "[plan]")
{
    const PlanTable plans;
    const struct {
        const char* name;
        std::int64_t minute;
        std::int64_t day;
    } rows[] = {
        {"free", 60, 1000}, {"pro", 300, 10000}, {"business", 1000, 100000}};
    for (const auto& row : rows) {
        CAPTURE(row.name);
        CHECK(plans.knows(row.name));
        CHECK(limits_of(plans, plan_of(row.name)).minute == row.minute);
        CHECK(limits_of(plans, plan_of(row.name)).day == row.day);
        CHECK_FALSE(limits_of(plans, plan_of(row.name)).has_month());
    }
    CHECK(plans.knows("enterprise"));
}

// Plan and numbers of the key and of its account; then the plan in force, its
// limits, and the numbers that replace the plan's.
TEST_CASE("whose plan and numbers are in force", "[plan]")
{
    PlanTable plans;
    plans.set("gold", {7, 70, 700});
    const struct {
        const char* key;
        const char* account;
        const char* plan;
        const char* limits;
        const char* numbers;
        bool overrides;
    } rows[] = {
        // Nothing: free.
        {"- - - -", "- - - -", "free", "60 1000 0", "- - -", false},
        // The account's plan and numbers.
        {"- - - -", "pro - - -", "pro", "300 10000 0", "- - -", false},
        {"- - - -", "gold - - -", "gold", "7 70 700", "- - -", false},
        {"- - - -", "pro 5 - -", "pro", "5 10000 0", "5 - -", false},
        {"- - - -", "pro - 5 -", "pro", "300 5 0", "- 5 -", false},
        {"- - - -", "pro - - 5", "pro", "300 10000 5", "- - 5", false},
        {"- - - -", "gold 1 2 3", "gold", "1 2 3", "1 2 3", false},
        {"- - - -", "- 1 - 3", "free", "1 1000 3", "1 - 3", false},
        // The key's numbers, over the account's.
        {"- 9 - -", "pro 5 6 -", "pro", "9 6 0", "9 6 -", true},
        {"- - 9 -", "pro 5 6 8", "pro", "5 9 8", "5 9 8", true},
        {"- - - 9", "gold - - -", "gold", "7 70 9", "- - 9", true},
        {"- - - 9", "gold 5 6 8", "gold", "5 6 9", "5 6 9", true},
        {"- 9 9 9", "- - - -", "free", "9 9 9", "9 9 9", true},
        // The key's plan decides for every window that the key has no number
        // for: without a month there is none.
        {"pro - - -", "- - - -", "pro", "300 10000 0", "- - -", true},
        {"pro - - -", "gold - - -", "pro", "300 10000 0", "- - -", true},
        {"pro - - -", "gold 5 6 8", "pro", "300 10000 0", "- - -", true},
        {"gold - - -", "pro 5 6 8", "gold", "7 70 700", "- - -", true},
        {"pro 9 - -", "gold 5 6 8", "pro", "9 10000 0", "9 - -", true},
        {"pro - - 9", "gold 5 6 8", "pro", "300 10000 9", "- - 9", true},
        {"free - - -", "gold - - -", "free", "60 1000 0", "- - -", true},
        // enterprise has no numbers of its own.
        {"- - - -", "enterprise 8 9 -", "enterprise", "8 9 0", "8 9 -", false},
        {"- 7 - -", "enterprise 8 9 -", "enterprise", "7 9 0", "7 9 -", true},
        {"- - - -", "enterprise 8 - -", "enterprise", "8 1000 0", "8 - -",
         false},
        {"- - - -", "enterprise - - -", "enterprise", "60 1000 0", "- - -",
         false},
        {"enterprise - - -", "gold 8 9 7", "enterprise", "60 1000 0", "- - -",
         true},
        {"enterprise 1 2 3", "gold 8 9 7", "enterprise", "1 2 3", "1 2 3",
         true},
        // A plan that nothing defines counts as free.
        {"- - - -", "nobodys - - -", "nobodys", "60 1000 0", "- - -", false},
        {"- - - -", "nobodys 5 - 8", "nobodys", "5 1000 8", "5 - 8", false},
        {"nobodys - - -", "gold 5 6 8", "nobodys", "60 1000 0", "- - -", true},
        {"nobodys 5 - -", "gold - - -", "nobodys", "5 1000 0", "5 - -", true},
    };
    for (const auto& row : rows) {
        CAPTURE(row.key, row.account);
        const OwnPlan key = parse(row.key);
        const OwnPlan account = parse(row.account);
        const PlanInForce found = plans.plan_in_force(key, account);
        CHECK(found.plan == row.plan);
        CHECK(std::to_string(found.limits.minute) + ' '
                  + std::to_string(found.limits.day) + ' '
                  + std::to_string(found.limits.month)
              == row.limits);
        CHECK(text(found.per_minute) + ' ' + text(found.per_day) + ' '
                  + text(found.per_month)
              == row.numbers);
        CHECK(found.overrides == row.overrides);
    }
}

TEST_CASE("a plan without limits counts as free", "[plan]")
{
    PlanTable plans;
    plans.set("free", {9, 90, 900});
    for (const char* name : {"enterprise", "gold", "", "Pro", "free "}) {
        CAPTURE(name);
        CHECK(limits_of(plans, plan_of(name)).minute == 9);
        CHECK(limits_of(plans, plan_of(name)).day == 90);
        CHECK(limits_of(plans, plan_of(name)).month == 900);
    }
    CHECK_FALSE(plans.knows("gold"));
    CHECK_FALSE(plans.knows(""));
    CHECK_FALSE(plans.knows("Pro"));
}

TEST_CASE("plans can be added and changed", "[plan]")
{
    PlanTable plans;
    plans.set("gold", {7, 70});
    plans.set("pro", {8, 80});
    plans.set("enterprise", {10, 100});
    CHECK(plans.knows("gold"));
    CHECK(limits_of(plans, plan_of("gold")).minute == 7);
    CHECK(limits_of(plans, plan_of("gold")).day == 70);
    CHECK(limits_of(plans, plan_of("pro")).minute == 8);
    CHECK(limits_of(plans, plan_of("enterprise")).minute == 10);
}

TEST_CASE("own limits out of range do not lift the limits", "[plan]")
{
    const PlanTable plans;
    for (const bool of_key : {true, false}) {
        OwnPlan own = plan_of("free");
        own.per_minute = -1;
        own.per_day = INT64_MAX;
        own.per_month = 0;
        const Limits limits = plans
                                  .plan_in_force(of_key ? own : OwnPlan(),
                                                 of_key ? OwnPlan() : own)
                                  .limits;
        CHECK(limits.minute == 0);
        CHECK(limits.day == 1'000'000'000'000);
        CHECK(limits.month == 1);
    }
}
