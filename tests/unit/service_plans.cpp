// Plans in Redis: which requests wait for them, and which limits apply.
#include "service_test.h"

namespace {

std::string plan(const std::string& name, const std::string& limits)
{
    return array({bulk("0"), array({bulk(name), bulk(limits)})});
}

std::string gold(const std::string& limits)
{
    return plan("gold", limits);
}

struct Fixture {
    Fixture() { worker.link.plans.clear(); }

    FakeWorker worker;
    FakeClient client{worker};
};

}  // namespace

TEST_CASE("the first request reads the plans ahead of its key", "[service]")
{
    Fixture f;
    f.client.send();
    CHECK(f.worker.open() == Names{"HSCAN", "HGETALL"});
    f.worker.reply_to("HSCAN", gold("7 70"));
    f.worker.reply_record({{"plan", "gold"}});
    f.worker.link.end_iteration();
    f.worker.reply_limit({1, 1, 1});
    CHECK(f.client.rate() == Rate{7, 6, f.worker.now() + 30});
}

TEST_CASE("if its key arrives first, the request waits for the plans",
          "[service]")
{
    Fixture f;
    f.client.send();
    f.worker.link.reply(FakeWorker::record({{"plan", "pro"}}), 1);
    f.worker.link.reply(
        FakeWorker::account_record(f.worker.link.commands.back()), 1);
    f.worker.link.end_iteration();
    CHECK(f.worker.open() == Names{"HSCAN"});
    SECTION("they have it")
    {
        f.worker.reply_to("HSCAN", plan("pro", "7 70"));
        f.worker.link.end_iteration();
        f.worker.reply_limit({1, 1, 1});
        CHECK(f.client.rate()[0] == 7);
    }
    SECTION("once, although they are due again by now")
    {
        f.worker.clock.advance(2500);
        f.worker.reply_to("HSCAN", plan("pro", "7 70"));
        f.worker.link.end_iteration();
        CHECK(f.worker.open() == Names{"limit", "LRANGE"});
    }
    SECTION("they cannot be read")
    {
        f.worker.link.lose(NoReply::in_doubt);
        CHECK(f.client.status == 503);
        CHECK(f.worker.idle());
    }
    SECTION("the client leaves")
    {
        f.client.leave();
        f.worker.reply_to("HSCAN", plan("pro", "7 70"));
        CHECK(f.worker.storage.waiting_requests == 0);
        CHECK(f.worker.idle());
    }
}

TEST_CASE("a change of the plans reaches a cached key", "[service]")
{
    Fixture f;
    f.worker.link.plans = gold("7 70");
    f.worker.know_key({{"plan", "gold"}});
    FakeClient first(f.worker);
    first.send();
    f.worker.reply_limit({1, 1, 1});
    CHECK(first.rate()[0] == 7);
    f.worker.reply();  // the page
    REQUIRE(f.worker.idle());

    f.worker.link.plans = gold("5 70");
    f.worker.clock.advance(1000);
    FakeClient second(f.worker);
    second.send();
    f.worker.reply_limit({1, 2, 2});
    CHECK(second.rate()[0] == 5);
}

TEST_CASE("a denial in memory ends with the plan that it was by", "[service]")
{
    Fixture f;
    f.worker.link.plans = gold("7 70");
    f.worker.know_key({{"plan", "gold"}});
    FakeClient first(f.worker);
    first.send();
    f.worker.admit();
    f.worker.reply();  // the page

    f.worker.clock.advance(600);
    FakeClient denied(f.worker);
    denied.send();
    f.worker.reply_limit({0, 7, 7});
    CHECK(denied.status == 429);

    f.worker.clock.advance(399);
    FakeClient again(f.worker);
    again.send();
    CHECK(again.status == 429);
    CHECK(f.worker.idle());

    f.worker.link.plans = gold("9 70");
    f.worker.clock.advance(1);
    FakeClient admitted(f.worker);
    admitted.send();
    f.worker.reply_limit({1, 8, 8});
    CHECK(admitted.rate()[0] == 9);
}

TEST_CASE("while Redis is away, rate headers are by the free plan in Redis",
          "[service]")
{
    Fixture f;
    f.worker.link.plans =
        array({bulk("0"), array({bulk("free"), bulk("3 30")})});
    f.client.send();
    f.worker.link.lose(NoReply::not_sent);
    CHECK(f.client.status == 503);
    CHECK(f.client.rate() == Rate{3, 0, f.worker.now() + 1});
}
