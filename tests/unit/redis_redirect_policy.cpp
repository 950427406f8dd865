#include "catch.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/redirect_policy.h"
#include "redis_replies.h"

using petstore::redis::RedirectPolicy;
using Action = RedirectPolicy::Action;
using Persistence = RedirectPolicy::Persistence;

namespace {

constexpr std::uint64_t kTimeout = 500;
constexpr std::string_view kForeignKey =
    "ERR Script attempted to access a non local key in a cluster node";
constexpr std::string_view kForeignKeyAmongOwn =
    "ERR Unable to execute command 'mget' in script because undeclared keys "
    "were accessed during rehashing of the slot";

RedirectPolicy::Attempt attempt(std::uint64_t time_left = kTimeout)
{
    RedirectPolicy::Attempt attempt;
    attempt.server = "one";
    attempt.time_left = time_left;
    return attempt;
}

RedirectPolicy::Decision decide(std::string_view error,
                                const RedirectPolicy::Attempt& attempt,
                                Persistence persistence = Persistence::brief)
{
    Replies replies;
    return RedirectPolicy(kTimeout, persistence)
        .decide(replies("-" + std::string(error) + "\r\n"), attempt);
}

}  // namespace

TEST_CASE("MOVED leads to a server for good, ASK for one attempt", "[redis]")
{
    const auto moved = decide("MOVED 12182 two:7001", attempt());
    CHECK(moved.action == Action::follow);
    CHECK(moved.search);
    CHECK(moved.server.host == "two");
    CHECK(moved.server.port == 7001);

    const auto ask = decide("ASK 12182 two:7001", attempt());
    CHECK(ask.action == Action::ask);
    CHECK_FALSE(ask.search);
    CHECK(ask.server.host == "two");

    CHECK(decide("ASK 12182 ?:7001", attempt()).action == Action::deliver);

    // A server that does not know its name means the host that replied.
    CHECK(decide("MOVED 12182 :7001", attempt()).server.host == "one");
}

TEST_CASE("ASK is not followed across slots", "[redis]")
{
    auto call = attempt();
    call.across_slots = true;
    CHECK(decide("ASK 1 two:1", call).action == Action::deliver);
    CHECK(decide("MOVED 1 two:1", call).action == Action::follow);
}

TEST_CASE("only a few redirects in succession are followed", "[redis]")
{
    auto call = attempt();
    call.redirects = RedirectPolicy::kMaxRedirects - 1;
    CHECK(decide("MOVED 1 two:1", call).action == Action::follow);
    ++call.redirects;
    for (const char* error : {"MOVED 1 two:1", "ASK 1 two:1"}) {
        CHECK(decide(error, call).action == Action::deliver);
        CHECK_FALSE(decide(error, call).search);
        const auto later = decide(error, call, Persistence::until_deadline);
        CHECK(later.action == Action::retry);
        CHECK(later.search);
    }
    call.time_left = RedirectPolicy::kMinTimeForRetry;
    CHECK(decide("MOVED 1 two:1", call, Persistence::until_deadline).action
          == Action::deliver);
}

TEST_CASE("without time, no redirect is followed", "[redis]")
{
    CHECK(decide("MOVED 1 two:1", attempt(1)).action == Action::follow);
    CHECK(decide("MOVED 1 two:1", attempt(0)).action == Action::deliver);
    CHECK(decide("ASK 1 two:1", attempt(0)).action == Action::deliver);
}

TEST_CASE("an error that names no server waits once for the next map",
          "[redis]")
{
    const char* const error =
        GENERATE("CLUSTERDOWN Hash slot not served", "MOVED 12182 ?:7001",
                 "MOVED", "MOVED x", "MOVED 99999 two:1", "MOVED 1 two:99999");
    auto call = attempt();
    CHECK(decide(error, call).action == Action::wait_for_map);
    CHECK(decide(error, call).search);
    call.waited_for_map = true;
    CHECK(decide(error, call).action == Action::deliver);
    CHECK(decide(error, call).search);
    CHECK(decide(error, call, Persistence::until_deadline).action
          == Action::wait_for_map);
    call = attempt(0);
    CHECK(decide(error, call).action == Action::deliver);
    CHECK(decide(error, call).search);
    CHECK(decide(error, call, Persistence::until_deadline).action
          == Action::deliver);
}

TEST_CASE("a half-moved slot is retried while there is time for a reply",
          "[redis]")
{
    const auto error =
        GENERATE(as<std::string_view>{}, "TRYAGAIN Multiple keys request",
                 kForeignKey, kForeignKeyAmongOwn);
    for (const auto persistence :
         {Persistence::brief, Persistence::until_deadline}) {
        const auto early = decide(
            error, attempt(RedirectPolicy::kMinTimeForRetry + 1), persistence);
        CHECK(early.action == Action::retry);
        CHECK_FALSE(early.search);
        CHECK(decide(error, attempt(RedirectPolicy::kMinTimeForRetry),
                     persistence)
                  .action
              == Action::fail);
        CHECK(decide(error, attempt(0), persistence).action == Action::fail);
    }
}

TEST_CASE("short timeouts leave a quarter for the last attempt", "[redis]")
{
    Replies replies;
    const auto& error = replies("-TRYAGAIN x\r\n");
    const RedirectPolicy brief(40);
    CHECK(brief.decide(error, attempt(11)).action == Action::retry);
    CHECK(brief.decide(error, attempt(10)).action == Action::fail);
}

TEST_CASE("DAMAGED is retried only while the slot is being asked for",
          "[redis]")
{
    const char* const error = "DAMAGED P:{P:pets}:b:7";
    const auto persistence =
        GENERATE(Persistence::brief, Persistence::until_deadline);
    auto call = attempt();
    CHECK(decide(error, call, persistence).action == Action::deliver);
    call.redirects = 1;  // after MOVED
    CHECK(decide(error, call, persistence).action == Action::deliver);
    call.asking = true;
    CHECK(decide(error, call, persistence).action == Action::retry);
    call.time_left = 0;
    CHECK(decide(error, call, persistence).action == Action::fail);
}

TEST_CASE("other errors and malformed redirects are results", "[redis]")
{
    auto call = attempt();
    call.asking = GENERATE(false, true);
    for (const char* error :
         {"ERR x", "NOSCRIPT x", "LOADING x", "WRONGTYPE x", "READONLY x",
          "CROSSSLOT x", "ASK 1", "MOVEDX 1 two:1", "DAMAGEDX x"}) {
        CAPTURE(error);
        const auto decision = decide(error, call);
        CHECK(decision.action == Action::deliver);
        CHECK_FALSE(decision.search);
    }
}

TEST_CASE("only a persistent policy retries what was not sent", "[redis]")
{
    const RedirectPolicy brief(kTimeout);
    const RedirectPolicy persistent(kTimeout, Persistence::until_deadline);
    CHECK_FALSE(brief.may_retry_later(kTimeout));
    CHECK(persistent.may_retry_later(kTimeout));
    CHECK(persistent.may_retry_later(RedirectPolicy::kMinTimeForRetry + 1));
    CHECK_FALSE(persistent.may_retry_later(RedirectPolicy::kMinTimeForRetry));
}

TEST_CASE("errors about slots are the link's to report", "[redis]")
{
    Replies replies;
    const auto is_about_slots = [&](std::string_view error) {
        return RedirectPolicy::is_about_slots(
            replies("-" + std::string(error) + "\r\n"));
    };
    CHECK(is_about_slots("MOVED 1 two:1"));
    CHECK(is_about_slots("ASK 1 two:1"));
    CHECK(is_about_slots("TRYAGAIN x"));
    CHECK(is_about_slots(kForeignKey));
    CHECK(is_about_slots(kForeignKeyAmongOwn));
    CHECK_FALSE(is_about_slots("DAMAGED x"));
    CHECK_FALSE(is_about_slots("CLUSTERDOWN x"));
    CHECK_FALSE(is_about_slots("ERR x"));
}
