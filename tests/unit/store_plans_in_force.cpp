#include "catch.h"

#include <string>
#include <vector>

#include "fake_link.h"
#include "recorded_damage.h"
#include "store/plans/plan_publisher.h"
#include "store/plans/plans_in_force.h"

using namespace petstore;
using api::Limits;
using redis::NoReply;
using Words = FakeLink::Words;

namespace {

struct SetClock final : store::Clock {
    store::Monotonic monotonic() const noexcept override { return now; }
    api::Millis host_time() const noexcept override { return 0; }

    store::Monotonic now = 1'000'000;
};

struct PlanReports final : store::EventLog, store::PublishLog {
    void report(store::Event event) noexcept override
    {
        forbidden += event == store::Event::plans_forbidden;
    }
    void plans_not_published(std::string_view error_code) noexcept override
    {
        refusals.emplace_back(error_code);
    }

    void on_host_seen(const store::HostView& host) noexcept override
    {
        std::string text(host.name);
        text.append(" ").append(host.configuration);
        text.append(" ").append(host.version);
        hosts.push_back(text + ' ' + std::to_string(host.seconds));
    }

    int forbidden = 0;
    Words refusals;
    Words hosts;
};

struct Waits final : store::Waiter<store::Done> {
    void on_result(const store::Outcome<store::Done>& outcome) noexcept override
    {
        ++calls;
        failures += outcome.failed();
    }
    int calls = 0;
    int failures = 0;
};

struct Fixture {
    Fixture() { link.plans.clear(); }

    static api::PlanTable with_gold()
    {
        api::PlanTable plans;
        plans.set("gold", {10, 100});
        return plans;
    }
    static std::string redis(const std::vector<std::string>& texts)
    {
        std::vector<std::string> items;
        for (const std::string& text : texts) {
            items.push_back(bulk(text));
        }
        return array({bulk("0"), array(items)});
    }

    // The first read, and a second later the next one.
    void know(const std::vector<std::string>& texts)
    {
        CHECK_FALSE(plans.current());
        link.reply(redis(texts));
        CHECK(plans.current());
        clock.now += 1000;
    }

    Limits gold() const { return plans.table().limits_of("gold"); }
    bool asks() const { return link.commands.size() == 1; }

    FakeLink link;
    SetClock clock;
    const store::Schema schema{"P"};
    api::PlanTable configured = with_gold();
    RecordedDamage damage;
    PlanReports log;
    store::PlansInForce plans{link, schema, clock, configured, damage, log};
};

}  // namespace

TEST_CASE("the first request waits for the plans in Redis", "[store]")
{
    Fixture f;
    CHECK_FALSE(f.plans.current());
    CHECK(f.link.commands
          == std::deque<Words>{{"HSCAN", "P:plans", "0", "COUNT", "1024"}});
    CHECK_FALSE(f.plans.current());
    Waits one;
    Waits two;
    f.plans.wait(one);
    f.plans.wait(two);
    CHECK(f.asks());
    f.link.reply(Fixture::redis({"gold", "1 2 3"}));
    CHECK(f.gold() == Limits{1, 2, 3});
    CHECK(one.calls == 1);
    CHECK(two.calls == 1);
    CHECK(one.failures == 0);
    CHECK(f.plans.current());
    CHECK(f.link.commands.empty());
}

TEST_CASE("requests fail until the plans in Redis have been read", "[store]")
{
    Fixture f;
    const auto fails = GENERATE(0, 1, 2);
    for (int i = 0; i < 3; ++i) {
        CHECK_FALSE(f.plans.current());
        Waits waits;
        f.plans.wait(waits);
        CHECK(waits.calls == 0);
        if (fails == 0) {
            f.link.lose(NoReply::in_doubt);
        } else if (fails == 1) {
            f.link.reply("-LOADING x\r\n");
        } else {
            f.link.reply("+nonsense\r\n");
        }
        CHECK(waits.calls == 1);
        CHECK(waits.failures == (fails == 2 ? 0 : 1));
        if (fails == 2) {
            return;  // damaged: the configuration's plans count
        }
    }
    f.link.full = true;
    CHECK_FALSE(f.plans.current());
    Waits waits;
    f.plans.wait(waits);
    CHECK(waits.failures == 1);
    f.link.full = false;
    CHECK_FALSE(f.plans.current());
    f.link.reply(Fixture::redis({}));
    CHECK(f.plans.current());
}

TEST_CASE("plans are read once per second, without waiting", "[store]")
{
    Fixture f;
    f.know({"gold", "1 2"});
    CHECK(f.plans.current());
    CHECK(f.asks());
    f.clock.now += 800;
    CHECK(f.plans.current());
    CHECK(f.asks());  // one at a time
    f.link.reply(Fixture::redis({"gold", "3 4"}));
    CHECK(f.gold() == Limits{3, 4});
    f.clock.now += 199;
    CHECK(f.plans.current());
    CHECK(f.link.commands.empty());
    f.clock.now += 1;
    CHECK(f.plans.current());
    CHECK(f.asks());
    f.link.reply(Fixture::redis({}));
    CHECK(f.gold() == Limits{10, 100});
}

TEST_CASE("a request after a pause waits for the plans", "[store]")
{
    Fixture f;
    f.know({"gold", "1 2"});
    f.clock.now += 900;
    CHECK_FALSE(f.plans.current());
    Waits waits;
    f.plans.wait(waits);
    f.link.reply(Fixture::redis({"gold", "3 4"}));
    CHECK(waits.calls == 1);
    CHECK(f.gold() == Limits{3, 4});
}

TEST_CASE("while Redis is away the last plans count and none waits", "[store]")
{
    Fixture f;
    f.know({"gold", "1 2"});
    f.clock.now += 3'600'000;
    CHECK_FALSE(f.plans.current());
    f.link.lose(NoReply::not_sent);
    CHECK(f.gold() == Limits{1, 2});
    for (int second = 0; second < 3; ++second) {
        f.clock.now += 1000;
        CHECK(f.plans.current());
        CHECK(f.asks());
        f.link.lose(NoReply::not_sent);
    }
    f.clock.now += 1000;
    f.link.full = true;
    CHECK(f.plans.current());
    f.link.full = false;

    // It is back, without its data.
    f.clock.now += 1000;
    CHECK(f.plans.current());
    f.link.reply(Fixture::redis({}));
    CHECK(f.gold() == Limits{10, 100});
    f.clock.now += 5000;
    CHECK_FALSE(f.plans.current());
}

TEST_CASE("plans that may not be read are the configuration's", "[store]")
{
    Fixture f;
    f.know({"gold", "1 2"});
    for (int i = 0; i < 2; ++i) {
        CHECK(f.plans.current());
        f.link.reply("-NOPERM no permissions\r\n");
        CHECK(f.gold() == Limits{10, 100});
        CHECK(f.log.forbidden == 1);
        f.clock.now += 1000;
    }
    CHECK(f.plans.current());
    f.link.reply(Fixture::redis({"gold", "1 2"}));
    CHECK(f.gold() == Limits{1, 2});
    f.clock.now += 1000;
    CHECK(f.plans.current());
    f.link.reply("-NOPERM no permissions\r\n");
    CHECK(f.log.forbidden == 2);
    CHECK(f.damage.keys.empty());
}

TEST_CASE("damaged plans are reported once and do not count", "[store]")
{
    Fixture f;
    f.know({"gold", "1 2", "tin", "5 6"});
    for (const std::string& reply :
         {Fixture::redis({"gold", "x", "tin", "5 6"}),
          Fixture::redis({"gold", "x", "tin", "7 8"})}) {
        CHECK(f.plans.current());
        f.link.reply(reply);
        CHECK(f.gold() == Limits{10, 100});
        CHECK(f.damage.keys == Words{"P:plans"});
        f.clock.now += 1000;
    }
    CHECK(f.plans.table().limits_of("tin") == Limits{7, 8});
    CHECK(f.plans.current());
    f.link.reply("-WRONGTYPE x\r\n");
    CHECK_FALSE(f.plans.table().knows("tin"));
    CHECK(f.damage.keys.size() == 1);
    f.clock.now += 1000;
    CHECK(f.plans.current());
    f.link.reply(Fixture::redis({"gold", "1 2"}));
    f.clock.now += 1000;
    CHECK(f.plans.current());
    f.link.reply("-WRONGTYPE x\r\n");
    CHECK(f.damage.keys.size() == 2);
}

TEST_CASE("a cached key takes the limits of changed plans", "[store]")
{
    Fixture f;
    api::KeyRecord record;
    record.id = "k1";
    record.plan = "gold";
    record.per_day = 7;
    const auto plan = f.configured.plan_in_force(record, {});
    const auto key = store::make_ref<store::CachedKey>();
    key->record = store::CachedRecord(record, {}, plan.plan);
    key->set_limits(plan);
    f.plans.update(*key);
    CHECK(key->limits == Limits{10, 7});

    f.know({"gold", "1 2 3"});
    f.plans.update(*key);
    CHECK(key->limits == Limits{1, 7, 3});
    key->limits.minute = 99;  // unless plans have changed
    f.plans.update(*key);
    CHECK(key->limits.minute == 99);

    // Of a plan that nothing defines any more, those of free.
    f.configured = api::PlanTable();
    CHECK(f.plans.current());
    f.link.reply(Fixture::redis({"tin", "5 6"}));
    f.plans.update(*key);
    CHECK(key->limits == Limits{60, 7});
}

namespace {

struct Publishing {
    void publish()
    {
        publisher.publish_if_due();
        while (!link.commands.empty()) {
            link.reply(array({}));
        }
    }

    FakeLink link;
    SetClock clock;
    const store::Schema schema{"P"};
    PlanReports log;
    const store::Host host = {"web1", "/nginx.conf", "1.0"};
    const api::NamedLimits plans = {{"gold", {1, 2}}};
    store::PlanPublisher publisher{link, schema, clock, host, plans, log};
};

}  // namespace

TEST_CASE("a host publishes at first, every minute and after a lost connection",
          "[store]")
{
    Publishing f;
    f.publish();
    REQUIRE(f.link.sent.size() == 1);
    const Words& call = f.link.sent[0];
    CHECK(call[0] == "EVALSHA");
    CHECK(Words(call.begin() + 2, call.end())
          == Words{"1", "P:hosts", store::host_field(f.host),
                   store::host_json(f.host, f.plans), "180"});

    f.clock.now += 59'999;
    f.publish();
    CHECK(f.link.sent.size() == 1);
    f.clock.now += 1;
    f.publish();
    CHECK(f.link.sent.size() == 2);
    ++f.link.generation;
    f.publish();
    CHECK(f.link.sent.size() == 3);
}

TEST_CASE("a host learns of the others when it publishes", "[store]")
{
    Publishing f;
    f.publisher.publish_if_due();
    f.link.reply(array({bulk("web1"), bulk("/a.conf"), bulk("2.0"),
                        integer(180), bulk("web2"), bulk("/b.conf"),
                        bulk("2.1"), integer(0), bulk("cut")}));
    CHECK(f.log.hosts == Words{"web1 /a.conf 2.0 180", "web2 /b.conf 2.1 0"});
    // A reply of an earlier version's script.
    f.clock.now += 60'000;
    f.publisher.publish_if_due();
    f.link.reply(":1\r\n");
    CHECK(f.log.hosts.size() == 2);
}

TEST_CASE("a host that could not publish tries again", "[store]")
{
    Publishing f;
    f.publisher.publish_if_due();
    f.publisher.publish_if_due();
    CHECK(f.link.sent.size() == 1);  // one at a time
    f.link.lose(NoReply::in_doubt);
    f.publish();
    CHECK(f.link.sent.size() == 2);
    f.publish();
    CHECK(f.link.sent.size() == 2);
}

TEST_CASE("what Redis refuses to publish is reported once", "[store]")
{
    Publishing f;
    for (int i = 0; i < 3; ++i) {
        f.publisher.publish_if_due();
        REQUIRE(f.link.commands.size() == 1);
        f.link.reply("-NOPERM x\r\n");
        f.publish();
        CHECK(f.link.commands.empty());
        f.clock.now += 60'000;
    }
    CHECK(f.log.refusals == Words{"NOPERM"});
    f.publish();
    f.clock.now += 60'000;
    f.publisher.publish_if_due();
    f.link.reply("-OOM x\r\n");
    CHECK(f.log.refusals == Words{"NOPERM", "OOM"});
}
