#include "catch.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "redis/breaker.h"
#include "redis_replies.h"

using petstore::redis::Breaker;
using Retry = Breaker::Retry;

namespace {

using Outage = std::optional<std::uint64_t>;

constexpr std::string_view kOk = "+OK\r\n";

// Passes a reply to a command to the breaker.
Outage reply(Breaker& breaker, std::string_view text, std::uint64_t now)
{
    Replies replies;
    return breaker.on_reply(replies(text), now);
}

}  // namespace

TEST_CASE("a breaker opens with a failure and closes with a handshake",
          "[redis]")
{
    Breaker breaker;
    CHECK_FALSE(breaker.is_open());
    CHECK(breaker.failed(Retry::after_backoff, 100));
    CHECK(breaker.is_open());
    breaker.connected(200);
    CHECK_FALSE(breaker.is_open());
}

TEST_CASE("only the first failure of an outage is retried at once", "[redis]")
{
    Breaker breaker;
    CHECK_FALSE(breaker.failed(Retry::at_once, 100));
    CHECK_FALSE(breaker.is_open());
    CHECK(breaker.failed(Retry::at_once, 100));
    CHECK(breaker.is_open());
    breaker.connected(200);
    CHECK(breaker.failed(Retry::at_once, 300));
    CHECK(breaker.is_open());

    breaker.connected(400);
    CHECK(reply(breaker, kOk, 400));
    CHECK_FALSE(breaker.failed(Retry::at_once, 500));
    CHECK_FALSE(breaker.is_open());
}

TEST_CASE("failures are counted until a reply shows a recovery", "[redis]")
{
    Breaker breaker;
    CHECK(breaker.failures() == 0);
    breaker.failed(Retry::at_once, 100);
    breaker.failed(Retry::after_backoff, 100);
    CHECK(breaker.failures() == 2);
    breaker.connected(200);
    CHECK(breaker.failures() == 2);
    reply(breaker, kOk, 200);
    CHECK(breaker.failures() == 0);
}

TEST_CASE("an outage lasts from the first failure to the last handshake",
          "[redis]")
{
    Breaker breaker;
    CHECK(reply(breaker, kOk, 50) == std::nullopt);
    breaker.failed(Retry::after_backoff, 100);
    breaker.connected(200);
    breaker.failed(Retry::after_backoff, 300);
    breaker.connected(450);
    CHECK(reply(breaker, kOk, 460) == Outage(350));
    CHECK(reply(breaker, kOk, 470) == std::nullopt);

    breaker.failed(Retry::after_backoff, 1000);
    breaker.connected(1010);
    CHECK(reply(breaker, kOk, 1020) == Outage(10));
}

TEST_CASE("a connection that lasts ends an outage without a command", "[redis]")
{
    Breaker breaker;
    CHECK(breaker.end_outage() == std::nullopt);
    breaker.write_refused();
    breaker.failed(Retry::at_once, 100);
    breaker.failed(Retry::after_backoff, 200);
    breaker.connected(450);
    CHECK(breaker.end_outage() == Outage(350));
    CHECK(breaker.end_outage() == std::nullopt);
    CHECK(breaker.failures() == 0);

    // The next outage is one of its own.
    CHECK_FALSE(breaker.failed(Retry::at_once, 50'000));
    breaker.connected(50'010);
    CHECK(reply(breaker, kOk, 50'020) == Outage(10));
}

TEST_CASE("an error reply does not end an outage", "[redis]")
{
    Breaker breaker;
    breaker.failed(Retry::after_backoff, 100);
    breaker.connected(200);
    for (const char* error : {"-LOADING x\r\n", "-ERR x\r\n", "-OOM x\r\n",
                              "-READONLY x\r\n", "-\r\n"}) {
        CAPTURE(error);
        CHECK(reply(breaker, error, 5000) == std::nullopt);
    }
    CHECK(breaker.failures() == 1);
    CHECK(reply(breaker, "-NOSCRIPT x\r\n", 5000) == Outage(100));
}

TEST_CASE(
    "after a refused write, replies count from a connection's age of one second",
    "[redis]")
{
    Breaker breaker;
    breaker.write_refused();
    breaker.failed(Retry::at_once, 100);
    breaker.connected(200);
    CHECK(reply(breaker, kOk, 1199) == std::nullopt);
    breaker.failed(Retry::after_backoff, 1199);
    breaker.connected(1300);
    CHECK(reply(breaker, kOk, 2299) == std::nullopt);
    CHECK(reply(breaker, kOk, 2300) == Outage(1200));

    // The next outage has no probation.
    breaker.failed(Retry::after_backoff, 3000);
    breaker.connected(3100);
    CHECK(reply(breaker, kOk, 3100) == Outage(100));
}

TEST_CASE("a breaker that was opened stays open until a handshake", "[redis]")
{
    Breaker breaker;
    breaker.open();
    CHECK(breaker.is_open());
    CHECK_FALSE(breaker.failed(Retry::at_once, 100));
    CHECK(breaker.is_open());
    CHECK(reply(breaker, kOk, 100));
    CHECK(breaker.is_open());
    breaker.connected(200);
    CHECK_FALSE(breaker.is_open());
}
