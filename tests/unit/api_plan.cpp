#include "api/plan.h"

#include "catch.h"

using namespace petstore::api;

namespace {

KeyRecord key_of(const char* plan)
{
    KeyRecord key;
    key.plan = plan;
    return key;
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
        CHECK(plans.limits_of(key_of(row.name)).minute == row.minute);
        CHECK(plans.limits_of(key_of(row.name)).day == row.day);
    }
    CHECK(plans.limits_of(KeyRecord()).minute == 60);
}

TEST_CASE("the enterprise plan takes its limits from the key", "[plan]")
{
    const PlanTable plans;
    KeyRecord key = key_of("enterprise");
    CHECK(plans.knows("enterprise"));
    key.per_minute = 5000;
    key.per_day = 2'000'000;
    CHECK(plans.limits_of(key).minute == 5000);
    CHECK(plans.limits_of(key).day == 2'000'000);
}

TEST_CASE("a plan without limits counts as free", "[plan]")
{
    const PlanTable plans;
    for (const char* name : {"enterprise", "gold", "", "Pro", "free "}) {
        CAPTURE(name);
        CHECK(plans.limits_of(key_of(name)).minute == 60);
        CHECK(plans.limits_of(key_of(name)).day == 1000);
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
    plans.set("free", {9, 90});
    CHECK(plans.knows("gold"));
    CHECK(plans.limits_of(key_of("gold")).minute == 7);
    CHECK(plans.limits_of(key_of("gold")).day == 70);
    CHECK(plans.limits_of(key_of("pro")).minute == 8);
    CHECK(plans.limits_of(key_of("nobody's")).day == 90);
    plans.set("enterprise", {10, 100});
    CHECK(plans.limits_of(key_of("enterprise")).minute == 10);
}

TEST_CASE("each limit of a key overrides the plan's", "[plan]")
{
    const PlanTable plans;
    KeyRecord key = key_of("pro");
    key.per_minute = 5;
    CHECK(plans.limits_of(key).minute == 5);
    CHECK(plans.limits_of(key).day == 10000);
    key.per_minute.reset();
    key.per_day = 0;
    CHECK(plans.limits_of(key).minute == 300);
    CHECK(plans.limits_of(key).day == 0);
}

TEST_CASE("a key's own limits out of range do not lift the limits", "[plan]")
{
    const PlanTable plans;
    KeyRecord key = key_of("free");
    key.per_minute = -1;
    key.per_day = INT64_MAX;
    CHECK(plans.limits_of(key).minute == 0);
    CHECK(plans.limits_of(key).day == 1'000'000'000'000);
}
