// What a request costs, and costs that a plan never admits.
#include <memory>
#include <vector>

#include "service_test.h"

namespace {

constexpr char kNothing[] = "/v1/nothing";

struct Costly : FakeWorker {
    explicit Costly(std::int64_t cost)
    {
        settings.cost = cost;
        know_key();  // 60 per minute, 1000 per day
    }

    // A request for a path that does not exist: 404 once it is admitted.
    FakeClient& send()
    {
        clients.push_back(
            std::make_unique<FakeClient>(*this, Method::get, kNothing));
        clients.back()->send();
        return *clients.back();
    }

    std::vector<std::unique_ptr<FakeClient>> clients;
};

constexpr char kExceeds[] =
    R"({"code":"cost_exceeds_plan","message":"The cost of this request, 61, )"
    R"(exceeds the limit of 60 requests per minute.","status":403})";

}  // namespace

TEST_CASE("a request costs what its location says", "[service]")
{
    Costly worker(10);
    FakeClient& client = worker.send();
    CHECK(client.state().cost == 10);
    worker.reply_limit({0, 51, 70});
    CHECK(client.status == 429);
    CHECK(client.state().decision.value.cost == 10);
    CHECK(client.state().limit_status == api::LimitStatus::limited);
    CHECK(client.rate() == Rate{60, 0, worker.now() + 30});
    CHECK(client.retry_after == 30);
    CHECK(client.body
          == R"({"code":"rate_limit_exceeded","message":"Rate limit exceeded: )"
             R"(60 requests per minute, and this request counts as 10. )"
             R"(Retry in 30 seconds.","status":429})");
}

TEST_CASE("an admitted request shows what is left after its cost", "[service]")
{
    Costly worker(10);
    FakeClient& client = worker.send();
    worker.reply_limit({1, 53, 70});
    CHECK(client.status == 404);
    CHECK(client.rate() == Rate{60, 7, worker.now() + 30});
    // 7 are left: enough for another location, not for this one.
    FakeClient& next = worker.send();
    CHECK(worker.open() == Names{"limit"});
    worker.reply_limit({0, 53, 70});
    CHECK(next.status == 429);
    CHECK(next.rate() == Rate{60, 0, worker.now() + 30});
}

TEST_CASE("a denial in memory is for its cost and higher ones", "[service]")
{
    Costly worker(10);
    worker.send();
    worker.reply_limit({0, 53, 70});
    CHECK(worker.send().status == 429);
    CHECK(worker.idle());
    worker.settings.cost = 8;
    CHECK(worker.send().status == 429);
    CHECK(worker.idle());

    worker.settings.cost = 7;
    FakeClient& cheaper = worker.send();
    CHECK(worker.open() == Names{"limit"});
    worker.reply_limit({1, 60, 77});
    CHECK(cheaper.status == 404);
}

TEST_CASE("a variable's cost is evaluated once per client's request",
          "[service]")
{
    Costly worker(0);
    FakeClient main(worker, Method::get, kNothing);
    main.request().variable_cost = 7;
    main.start();
    FakeClient subrequest(worker, main, kNothing);
    subrequest.request().variable_cost = 9;
    subrequest.start();
    worker.link.end_iteration();
    worker.reply_limit({0, 55, 70});
    CHECK(subrequest.status == 429);
    FakeClient redirected(worker, main, kNothing, FakeClient::Part::redirect);
    redirected.start();
    CHECK(redirected.status == 429);
    CHECK(main.state().cost == 7);
    CHECK(main.state().decision.value.cost == 7);
    CHECK(main.request().cost_evaluations == 1);
    CHECK(subrequest.request().cost_evaluations == 0);
    CHECK(redirected.request().cost_evaluations == 0);
}

TEST_CASE("the first location's cost is charged, even if another one asks",
          "[service]")
{
    Costly worker(5);
    worker.link.full = true;
    FakeClient first(worker, Method::get, kNothing);
    first.send();
    CHECK(first.status == 503);
    worker.link.full = false;
    worker.settings.cost = 9;
    FakeClient second(worker, first, kNothing);
    second.send();
    worker.reply_limit({0, 60, 70});
    CHECK(second.state().decision.value.cost == 5);
}

TEST_CASE("without a valid key, no cost is evaluated", "[service]")
{
    Costly worker(0);
    FakeClient client(worker, Method::get, kNothing);
    client.request().headers.clear();
    client.send();
    CHECK(client.status == 401);
    CHECK(client.request().cost_evaluations == 0);
    CHECK(client.state().cost == 0);
}

TEST_CASE("a cost above the plan is refused and is no denial", "[service]")
{
    Costly worker(61);
    const auto check = [&](FakeClient& client) {
        CHECK(client.status == 403);
        CHECK(client.body == kExceeds);
        CHECK(client.retry_after == 0);
        CHECK(client.rate() == Rate{60, 57, worker.now() + 30});
        CHECK(client.state().limit_status == api::LimitStatus::limited);
        CHECK(client.state().error_code == "cost_exceeds_plan");
        CHECK_FALSE(worker.reports.alarm);
        CHECK_FALSE(worker.cached_key()->account->has_denials());
        CHECK(client.ended());
    };
    FakeClient& asked = worker.send();
    // Redis says whether the key is still valid, and whether it is banned.
    CHECK(worker.open() == Names{"limit"});
    worker.reply_limit({0, 3, 40});
    check(asked);
    // From memory.
    check(worker.send());
    CHECK(worker.idle());

    worker.settings.cost = 1;
    FakeClient& cheaper = worker.send();
    worker.reply_limit({1, 4, 41});
    CHECK(cheaper.status == 404);
}

TEST_CASE("a larger plan admits the cost within a second", "[service]")
{
    Costly worker(61);
    worker.send();
    worker.reply_limit({0, 3, 40});
    worker.clock.advance(899);
    CHECK(worker.send().status == 403);
    // Confirmed in the background, without a strike.
    REQUIRE(worker.open() == Names{"strike"});
    CHECK(worker.link.commands[0][7] == "0");
    worker.reply_strike(-1, false, {0, 3, 40, 0, 8});

    FakeClient& client = worker.send();
    CHECK(worker.open() == Names{"limit"});
    worker.reply_limit({-1, 3, 40, 0, 8});
    worker.reply_record({{"plan", "pro"}, {"epoch", "8"}});
    worker.link.end_iteration();
    worker.reply_limit({1, 64, 101, 0, 8});
    CHECK(client.status == 404);
    CHECK(client.rate() == Rate{300, 236, worker.now() + 31});
}

TEST_CASE("a ban comes before a cost above the plan", "[service]")
{
    Costly worker(61);
    FakeClient& client = worker.send();
    worker.reply_limit({0, 3, 40, 300'000});
    CHECK(client.status == 429);
    CHECK(client.state().limit_status == api::LimitStatus::banned);
    CHECK(client.state().error_code == "api_key_banned");
    CHECK(client.retry_after == 300);
}

TEST_CASE("a dry run admits a cost above the plan", "[service]")
{
    Costly worker(61);
    worker.settings.limit_dry_run = true;
    FakeClient& client = worker.send();
    worker.reply_limit({0, 3, 40});
    CHECK(client.status == 404);
    CHECK(client.state().limit_status == api::LimitStatus::limited_dry_run);
    CHECK(client.rate() == Rate{60, 57, worker.now() + 30});
    CHECK(client.dry_runs == Names{"a1"});
    CHECK_FALSE(worker.reports.alarm);
}

TEST_CASE("a guard charges its cost", "[service]")
{
    Costly worker(61);
    FakeClient client(worker, Method::get, "/reports/7");
    client.start_guard();
    worker.link.end_iteration();
    worker.reply_limit({0, 3, 40});
    CHECK(client.status == 403);
    CHECK(client.body == kExceeds);
    CHECK(client.admissions == 0);
}
