#include "catch.h"

#include "redis/idle_check.h"

using petstore::redis::IdleCheck;

namespace {

constexpr bool kIdle = true;
constexpr bool kBusy = false;

}  // namespace

TEST_CASE("an idle connection must prove itself two seconds after a reply",
          "[redis]")
{
    IdleCheck check;
    check.begin(1000);
    CHECK_FALSE(check.must_prove(1000, kIdle));
    CHECK_FALSE(check.must_prove(2999, kIdle));
    CHECK(check.must_prove(3000, kIdle));
    // Written commands have their own timeouts.
    CHECK_FALSE(check.must_prove(3000, kBusy));
    check.heard(2500);
    CHECK_FALSE(check.must_prove(4499, kIdle));
    CHECK(check.must_prove(4500, kIdle));
}

TEST_CASE("commands wait a moment for the reply to a check", "[redis]")
{
    IdleCheck check;
    check.begin(0);
    check.check_added();
    CHECK(check.checking());
    CHECK_FALSE(check.holding());
    // A command that comes now is not the first in the pipeline.
    CHECK(check.must_prove(20'000, kBusy));
    SECTION("at most 100 ms")
    {
        check.commands_held(20'000, 500);
        CHECK(check.hold_until() == 20'100);
    }
    SECTION("at most half of their timeout")
    {
        check.commands_held(20'000, 50);
        CHECK(check.hold_until() == 20'025);
    }
    CHECK(check.holding());
    if (GENERATE(true, false)) {
        check.heard(20'010);  // the reply
        CHECK_FALSE(check.must_prove(20'010, kIdle));
    } else {
        check.reset();  // of the connection
    }
    CHECK_FALSE(check.checking());
    CHECK_FALSE(check.holding());
}

TEST_CASE("idle connections are checked every 15 to 30 seconds", "[redis]")
{
    CHECK(IdleCheck::interval(0) == 15'000);
    CHECK(IdleCheck::interval(14'999) == 29'999);
    CHECK(IdleCheck::interval(15'000) == 15'000);
}

TEST_CASE("a server that closes each connection at once fails", "[redis]")
{
    IdleCheck check;
    check.begin(5000);
    check.heard(5900);
    CHECK_FALSE(check.may_replace(5999));
    CHECK(check.may_replace(6000));
    check.begin(6000);
    CHECK_FALSE(check.may_replace(6000));
}
