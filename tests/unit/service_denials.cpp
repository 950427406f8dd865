// Denials from memory, bans, and dry runs.
#include <memory>
#include <vector>

#include "service_test.h"

namespace {

const FakeWorker::Fields kTwoPerMinute = {
    {"plan", "enterprise"}, {"per_minute", "2"}, {"per_day", "10"}};
const FakeWorker::Account kDenied{0, 2, 5};
const FakeWorker::Account kBanned{0, 2, 5, 300'000};

// An account that has used up its two requests per minute, as the worker has
// just learned. More than three denials cause a ban.
struct Denied : FakeWorker {
    Denied()
    {
        settings.ban.threshold = 3;
        know_key(kTwoPerMinute);
        FakeClient client(*this);
        client.send();
        reply_limit(kDenied);
        reply_to("LRANGE", three_pets());
        REQUIRE(client.status == 429);
        REQUIRE(client.releases == 0);
    }

    // Sends a request and returns it; it may not have ended.
    FakeClient& send()
    {
        clients.push_back(std::make_unique<FakeClient>(*this));
        clients.back()->send();
        return *clients.back();
    }

    std::vector<std::unique_ptr<FakeClient>> clients;
};

}  // namespace

TEST_CASE("a denied account is denied from memory", "[service]")
{
    Denied worker;
    const auto reset = worker.now() + 30;
    worker.clock.advance(400);
    FakeClient& client = worker.send();
    CHECK(client.status == 429);
    // 29.5 s minus 0.4 s
    CHECK(client.retry_after == 30);
    CHECK(client.rate() == Rate{2, 0, reset});
    CHECK(client.state().limit_status == api::LimitStatus::limited);
    CHECK(client.state().error_code == "rate_limit_exceeded");
    CHECK(client.state().decision.stage == DecisionStage::made);
    CHECK_FALSE(client.state().redis_time.started);
    CHECK(worker.idle());
    CHECK(client.ended());
}

TEST_CASE("Retry-After counts down with denials from memory", "[service]")
{
    Denied worker;
    worker.clock.advance(499);
    CHECK(worker.send().retry_after == 30);  // 29.001 s
    worker.clock.advance(1);
    CHECK(worker.send().retry_after == 29);  // 29 s
}

TEST_CASE("a denial from memory is confirmed in the background after 500 ms",
          "[service]")
{
    Denied worker;
    worker.settings.ban.threshold = 100;
    worker.clock.advance(499);
    CHECK(worker.send().status == 429);
    CHECK(worker.idle());
    worker.clock.advance(1);
    FakeClient& client = worker.send();
    CHECK(client.status == 429);
    REQUIRE(worker.open() == Names{"strike"});
    // Reports the denials so far.
    CHECK(worker.link.commands[0][7] == "3");

    // One confirmation at a time.
    CHECK(worker.send().status == 429);
    CHECK(worker.open() == Names{"strike"});
    worker.reply_strike(3, false, kDenied);
    CHECK(client.responses == 1);

    // The denial is valid for the same time again.
    worker.clock.advance(499);
    CHECK(worker.send().status == 429);
    CHECK(worker.idle());
}

TEST_CASE("a denial is not repeated 900 ms after it was confirmed", "[service]")
{
    Denied worker;
    worker.clock.advance(899);
    CHECK(worker.send().status == 429);
    CHECK(worker.open() == Names{"strike"});
    worker.clock.advance(1);
    FakeClient& client = worker.send();
    CHECK(client.responses == 0);
    CHECK(worker.open() == Names{"strike", "limit"});
}

TEST_CASE("a denial from memory ends with its window", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker);
    first.send();
    FakeWorker::Account account{0, 60, 70};
    account.minute_ends_in = 200;
    worker.reply_limit(account);
    worker.reply_to("LRANGE", FakeWorker::three_pets());

    worker.clock.advance(199);
    FakeClient second(worker);
    second.start();
    CHECK(second.status == 429);
    CHECK(second.retry_after == 1);
    worker.clock.advance(1);
    FakeClient third(worker);
    third.send();
    CHECK(worker.open() == Names{"limit"});
}

TEST_CASE("the denial is counted from when the limiter was asked", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker);
    first.send();
    worker.clock.advance(300);  // Redis is slow
    worker.reply_limit({0, 60, 70});
    worker.reply_to("LRANGE", FakeWorker::three_pets());
    worker.clock.advance(599);
    FakeClient second(worker);
    second.start();
    CHECK(second.status == 429);
    worker.clock.advance(1);
    FakeClient third(worker);
    third.start();
    CHECK(third.responses == 0);
}

TEST_CASE("another key of the account with other limits asks Redis",
          "[service]")
{
    Denied worker;
    FakeClient other(worker);
    other.request().headers["Authorization"] = "Bearer another-key-of-a1";
    other.start();
    worker.reply_record({{"id", "k2"}, {"plan", "pro"}});
    worker.link.end_iteration();
    CHECK(worker.open() == Names{"limit"});
    worker.reply_limit({1, 3, 6});
    CHECK(other.state().limit_status == api::LimitStatus::passed);
    CHECK(other.rate() == Rate{300, 297, worker.now() + 30});
}

TEST_CASE("another key of the account with the same limits is denied too",
          "[service]")
{
    Denied worker;
    FakeClient other(worker);
    other.request().headers["Authorization"] = "Bearer another-key-of-a1";
    other.start();
    worker.reply_record(kTwoPerMinute);
    CHECK(other.status == 429);
    CHECK(worker.idle());
}

TEST_CASE("denials up to the ban threshold are queued for the next report",
          "[service]")
{
    Denied worker;
    CHECK(worker.reports.alarm);
    worker.send();
    worker.send();
    CHECK(worker.idle());
    worker.storage.denials.flush();
    REQUIRE(worker.open() == Names{"strike"});
    CHECK(worker.link.commands[0][6] == "7");  // epoch
    CHECK(worker.link.commands[0][7] == "3");
    CHECK(worker.link.commands[0][8] == "3");  // threshold
    worker.reply_strike(3, false, kDenied);
    worker.storage.denials.flush();
    CHECK(worker.idle());
}

TEST_CASE("a denial above the ban threshold is answered with the ban",
          "[service]")
{
    Denied worker;
    worker.send();
    worker.send();
    FakeClient& client = worker.send();
    CHECK(client.responses == 0);
    REQUIRE(worker.open() == Names{"strike"});
    CHECK(worker.link.commands[0][7] == "4");
    CHECK(client.state().redis_time.started);

    worker.reply_strike(4, true, kBanned);
    CHECK(client.status == 429);
    CHECK(client.body
          == R"({"code":"api_key_banned","message":"This API key is banned )"
             R"(for too many requests over its limit. Retry in 300 seconds.",)"
             R"("status":429})");
    CHECK(client.retry_after == 300);
    CHECK(client.rate() == Rate{2, 0, worker.now() + 300});
    CHECK(client.state().limit_status == api::LimitStatus::banned);
    CHECK(client.state().error_code == "api_key_banned");
    CHECK(client.state().decision.value.verdict == api::Verdict::banned);
    CHECK(client.bans == Names{"a1"});
    CHECK(worker.log.banned_accounts.empty());
    CHECK(client.ended());

    // The ban is served from memory, and its denials count only as usage.
    FakeClient& next = worker.send();
    CHECK(next.status == 429);
    CHECK(next.state().limit_status == api::LimitStatus::banned);
    CHECK(next.retry_after == 300);
    CHECK(worker.idle());
    const auto denials = worker.cached_key()->account->take_denials(
        worker.settings.ban, worker.clock.now);
    CHECK(denials.all == 1);
    CHECK(denials.strikes == 0);
}

TEST_CASE("a denial above the threshold stays a denial if Redis does not ban",
          "[service]")
{
    Denied worker;
    worker.send();
    worker.send();
    FakeClient& client = worker.send();
    SECTION("Redis counts fewer denials")
    {
        worker.reply_strike(2, false, kDenied);
    }
    SECTION("Redis would admit the next request")
    {
        worker.reply_strike(2, false, {0, 0, 3});
        FakeClient& next = worker.send();
        CHECK(next.responses == 0);
        CHECK(worker.open() == Names{"limit"});
    }
    SECTION("the account is at another epoch")
    {
        worker.reply_strike(-1, false, {0, 0, 0, 0, 8});
        FakeClient& next = worker.send();
        CHECK(next.responses == 0);
        CHECK(worker.open() == Names{"limit"});
    }
    SECTION("the report is lost")
    {
        worker.link.lose(NoReply::in_doubt);
    }
    SECTION("Redis fails")
    {
        worker.reply_to("strike", "-LOADING x\r\n");
    }
    SECTION("the account is damaged")
    {
        worker.reply_to("strike", "-DAMAGED petstore:{a1}:bans\r\n");
        CHECK(worker.log.damaged_keys == Names{"petstore:{a1}:bans"});
    }
    CHECK(client.status == 429);
    CHECK(client.state().limit_status == api::LimitStatus::limited);
    CHECK(client.retry_after == 30);
    CHECK(client.bans.empty());
    CHECK(client.ended());
}

TEST_CASE("a denial whose report cannot be sent is answered at once",
          "[service]")
{
    Denied worker;
    worker.send();
    worker.send();
    worker.link.full = true;
    FakeClient& client = worker.send();
    CHECK(client.status == 429);
    CHECK(client.state().limit_status == api::LimitStatus::limited);
    CHECK(client.ended());
    // No denials were lost.
    worker.link.full = false;
    worker.clock.advance(499);
    CHECK(worker.send().status == 429);
    CHECK(worker.idle());
    worker.clock.advance(1);
    worker.send();
    REQUIRE_FALSE(worker.idle());
    CHECK(worker.open().front() == "strike");
    CHECK(worker.link.commands[0][7] == "6");
}

TEST_CASE("a Redis that refuses reports is asked only a few times per second",
          "[service]")
{
    const auto* const refusal =
        GENERATE("-NOREPLICAS x\r\n", "-OOM x\r\n", "-NOPERM x\r\n");
    Denied worker;
    std::size_t limits = 0;
    const auto before = worker.link.sent.size();
    for (int ms = 0; ms < 10'000; ms += 10) {
        FakeClient& client = worker.send();
        while (!worker.idle()) {
            if (worker.open().front() == "limit") {
                ++limits;
                worker.reply_limit(kDenied);
            } else if (worker.open().front() == "strike") {
                worker.link.reply(refusal);
            } else {
                worker.reply_to("LRANGE", FakeWorker::three_pets());
            }
        }
        REQUIRE(client.status == 429);
        REQUIRE(client.state().limit_status == api::LimitStatus::limited);
        worker.clock.advance(10);
    }
    // Each denial is valid for 0.9 s.
    CHECK(limits <= 12);
    CHECK(worker.link.sent.size() - before <= 12 * 8);
}

TEST_CASE("a denied request whose client left is counted", "[service]")
{
    FakeWorker worker;
    worker.settings.ban.threshold = 0;
    worker.know_key(kTwoPerMinute);
    {
        FakeClient client(worker);
        client.send();
        client.leave();
        SECTION("denied")
        {
            worker.reply_limit(kDenied);
            CHECK(client.releases == 1);
            worker.storage.denials.flush();
            REQUIRE(worker.open().back() == "strike");
            CHECK(worker.link.commands.back()[7] == "1");
            CHECK(worker.link.commands.back().back() == "1");
            // The denial is remembered.
            FakeClient next(worker);
            next.start();
            CHECK(next.status == 429);
        }
        SECTION("banned")
        {
            worker.reply_limit(kBanned);
            worker.storage.denials.flush();
            REQUIRE(worker.open().back() == "strike");
            CHECK(worker.link.commands.back()[7] == "0");
            CHECK(worker.link.commands.back().back() == "1");
        }
        SECTION("admitted")
        {
            worker.admit();
            CHECK_FALSE(worker.reports.alarm);
            CHECK(worker.cached_key()->rate.limit != 0);
        }
        SECTION("in a dry run")
        {
            worker.settings.limit_dry_run = true;
            worker.reply_limit(kDenied);
            CHECK_FALSE(worker.reports.alarm);
        }
    }
}

TEST_CASE("keys of a banned account with other limits do not ask Redis",
          "[service]")
{
    Denied worker;
    worker.send();
    worker.send();
    worker.send();
    worker.reply_strike(4, true, kBanned);
    FakeClient other(worker);
    other.request().headers["Authorization"] = "Bearer another-key-of-a1";
    other.start();
    worker.reply_record({{"id", "k2"}, {"plan", "pro"}});
    CHECK(other.status == 429);
    CHECK(other.state().limit_status == api::LimitStatus::banned);
    CHECK(other.rate() == Rate{300, 0, worker.now() + 300});
    CHECK(worker.send().state().limit_status == api::LimitStatus::banned);
    CHECK(worker.idle());
}

TEST_CASE("a ban whose request has left is logged by the worker", "[service]")
{
    Denied worker;
    worker.send();
    worker.send();
    FakeClient& client = worker.send();
    client.leave();
    worker.reply_strike(4, true, kBanned);
    CHECK(client.responses == 0);
    CHECK(client.bans.empty());
    CHECK(client.releases == 1);
    CHECK(worker.log.banned_accounts == Names{"a1"});
}

TEST_CASE("a ban found by a background report is logged by the worker",
          "[service]")
{
    Denied worker;
    worker.storage.denials.flush();
    worker.reply_strike(4, true, kBanned);
    CHECK(worker.log.banned_accounts == Names{"a1"});
    CHECK(worker.send().state().limit_status == api::LimitStatus::banned);
}

TEST_CASE("without bans denials are only counted as usage", "[service]")
{
    FakeWorker worker;
    worker.settings.ban.enabled = false;
    worker.settings.ban.threshold = 0;
    worker.know_key(kTwoPerMinute);
    for (int i = 0; i < 5; ++i) {
        FakeClient client(worker);
        client.send();
        if (i == 0) {
            worker.reply_limit(kDenied);
            worker.reply_to("LRANGE", FakeWorker::three_pets());
        }
        CHECK(client.status == 429);
        CHECK(client.state().limit_status == api::LimitStatus::limited);
    }
    CHECK(worker.idle());
    worker.storage.denials.flush();
    REQUIRE(worker.open() == Names{"strike"});
    CHECK(worker.link.commands[0][7] == "0");
    CHECK(worker.link.commands[0].back() == "5");
    worker.reply_strike(0, false, kDenied);
    CHECK(worker.idle());
}

TEST_CASE("requests during a ban are only counted as usage", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    worker.reply_limit(kBanned);
    CHECK(client.state().limit_status == api::LimitStatus::banned);
    worker.storage.denials.flush();
    REQUIRE(worker.open().back() == "strike");
    CHECK(worker.link.commands.back()[7] == "0");
    CHECK(worker.link.commands.back().back() == "1");
}

TEST_CASE("a dry run admits denied requests and logs them", "[service]")
{
    FakeWorker worker;
    worker.settings.limit_dry_run = true;
    worker.know_key(kTwoPerMinute);
    FakeClient client(worker, Method::get, "/v1/nothing");
    client.send();
    SECTION("limited")
    {
        worker.reply_limit(kDenied);
        CHECK(client.state().limit_status == api::LimitStatus::limited_dry_run);
        CHECK(client.rate() == Rate{2, 0, worker.now() + 30});
    }
    SECTION("banned")
    {
        worker.reply_limit(kBanned);
        CHECK(client.state().limit_status == api::LimitStatus::banned_dry_run);
        CHECK(client.rate() == Rate{2, 0, worker.now() + 300});
    }
    CHECK(client.status == 404);  // as if it were admitted
    CHECK(client.dry_runs == Names{"a1"});
    CHECK(client.retry_after == 0);
    CHECK_FALSE(worker.reports.alarm);

    // From memory, too.
    FakeClient again(worker, Method::get, "/v1/nothing");
    again.start();
    CHECK(again.status == 404);
    CHECK(again.dry_runs == Names{"a1"});
    CHECK(worker.idle());
}

TEST_CASE("a dry run confirms a denial without reporting any", "[service]")
{
    Denied worker;
    worker.settings.ban.threshold = 100;
    CHECK(worker.send().status == 429);
    REQUIRE(worker.cached_key()->account->has_denials());
    worker.settings.limit_dry_run = true;
    worker.clock.advance(500);
    worker.send();
    // The request is served, with the version of the catalogue.
    REQUIRE(worker.open() == Names{"MGET", "strike"});
    CHECK(worker.link.commands[1][7] == "0");
    CHECK(worker.cached_key()->account->has_denials());
}

TEST_CASE("an admitted request in a dry run is not logged", "[service]")
{
    FakeWorker worker;
    worker.settings.limit_dry_run = true;
    worker.know_key();
    FakeClient client(worker, Method::get, "/v1/nothing");
    client.send_and_admit();
    CHECK(client.state().limit_status == api::LimitStatus::passed);
    CHECK(client.dry_runs.empty());
}
