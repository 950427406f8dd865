// petstore_usage: what the account of a key has used.
#include <nlohmann/json.hpp>

#include "service_test.h"

namespace {

using Account = FakeWorker::Account;
using nlohmann::json;

constexpr char kUsage[] = "/usage";
constexpr api::Day kToday = 19675;  // FakeClock's, 2023-11-14

// The reply to read_usage.lua: used today.
std::string counts(const FakeWorker& worker, const Account& account = {},
                   const std::string& ledger = array({}))
{
    const auto now = worker.clock.host;
    return array({bulk(std::to_string(now / 1000)),
                  bulk(std::to_string(now % 1000 * 1000)),
                  bulk(encode_numbers(
                      {account.epoch, account.ban_for == 0 ? kToday : 0,
                       account.minute, now + account.minute_ends_in,
                       account.day, now + account.day_ends_in, account.day,
                       account.ban_for == 0 ? 0 : now + account.ban_for, kToday,
                       account.day - 4})),
                  kNil, kNil, ledger});
}

// An account that Redis does not know.
std::string no_counts(const FakeWorker& worker, int ledgers)
{
    std::vector<std::string> parts = {
        bulk(std::to_string(worker.clock.host / 1000)), bulk("0"), kNil, kNil,
        kNil};
    parts.insert(parts.end(), static_cast<std::size_t>(ledgers), array({}));
    return array(parts);
}

}  // namespace

TEST_CASE("usage: the windows, the day and the month", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    REQUIRE(worker.open() == Names{"read_usage"});
    CHECK(worker.link.commands[0].back() == "petstore:{a1}:usage:202311");
    worker.reply_to("read_usage",
                    counts(worker, {}, array({bulk("02"), bulk("5")})));
    CHECK(client.status == 200);
    const auto now = worker.clock.host;
    CHECK(json::parse(client.body)
          == json{{"account", "a1"},
                  {"plan", "free"},
                  {"windows",
                   {{{"window", "minute"},
                     {"limit", 60},
                     {"used", 3},
                     {"remaining", 57},
                     {"reset", (now + 29'500 + 999) / 1000}},
                    {{"window", "day"},
                     {"limit", 1000},
                     {"used", 40},
                     {"remaining", 960},
                     {"reset", (now + 50'000'000) / 1000}}}},
                  {"today", 4},
                  {"month", 9},
                  {"last_used", "2023-11-14"}});
    CHECK(client.rate() == Rate{60, 57, worker.now() + 30});
    CHECK(client.state().operation == api::Operation::get_usage);
    // A later guarded location must ask the limiter.
    CHECK(client.state().decision.stage == DecisionStage::none);
    CHECK(client.ended());
    CHECK(worker.idle());
}

TEST_CASE("usage: Redis is asked once per second and account", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker, Method::get, kUsage);
    FakeClient second(worker, Method::get, kUsage);
    first.start_usage();
    second.start_usage();
    REQUIRE(worker.open() == Names{"read_usage"});
    worker.reply_to("read_usage", counts(worker));
    CHECK(first.status == 200);
    CHECK(second.body == first.body);

    worker.clock.advance(999);
    FakeClient third(worker, Method::get, kUsage);
    third.start_usage();
    CHECK(third.body == first.body);
    CHECK(worker.idle());

    worker.clock.advance(1);
    FakeClient fourth(worker, Method::get, kUsage);
    fourth.start_usage();
    CHECK(worker.open() == Names{"read_usage"});
    fourth.leave();
    worker.reply_to("read_usage", counts(worker));
    CHECK(fourth.releases == 1);
}

TEST_CASE("usage: an answer is a second old at most, however late it came",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker, Method::get, kUsage);
    first.start_usage();
    worker.clock.advance(900);
    worker.reply_to("read_usage", counts(worker));
    worker.clock.advance(100);
    FakeClient second(worker, Method::get, kUsage);
    second.start_usage();
    CHECK(worker.open() == Names{"read_usage"});
    worker.reply_to("read_usage", counts(worker));
    CHECK(second.ended());
}

TEST_CASE("usage: a changed key is read again", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    Account changed;
    changed.epoch = 8;
    worker.reply_to("read_usage", counts(worker, changed));
    CHECK(worker.open() == Names{"HGETALL"});
    SECTION("it has another plan")
    {
        worker.reply_record({{"epoch", "8"}, {"plan", "pro"}});
        CHECK(client.status == 200);
        CHECK(json::parse(client.body)["plan"] == "pro");
        CHECK(client.rate() == Rate{300, 297, worker.now() + 30});
    }
    SECTION("it is disabled")
    {
        worker.reply_record({{"epoch", "8"}, {"disabled", "1"}});
        CHECK(client.status == 401);
    }
    SECTION("it is gone")
    {
        worker.reply_no_record();
        CHECK(client.status == 401);
        CHECK(client.rate() == Rate{60, 59, 1'700'000'060});
    }
    CHECK(client.ended());
}

TEST_CASE("usage: an unknown key is looked up first", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    REQUIRE(worker.open() == Names{"HGETALL"});
    worker.reply_record();
    REQUIRE(worker.open() == Names{"read_usage"});
    SECTION("an account in use")
    {
        worker.reply_to("read_usage", counts(worker));
    }
    SECTION("an account without a state")
    {
        worker.reply_to("read_usage", no_counts(worker, 1));
        CHECK(worker.link.commands.front()[1] == "petstore:limits-place");
        worker.reply_to("GET", kNil);
        worker.reply_to("read_usage", no_counts(worker, 14));
        CHECK(json::parse(client.body)["last_used"] == nullptr);
        CHECK(json::parse(client.body)["today"] == 0);
    }
    CHECK(client.status == 200);
    CHECK(client.ended());
    CHECK(worker.idle());
}

TEST_CASE("usage: without a state, a key in memory is read again", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    worker.reply_to("read_usage", no_counts(worker, 1));
    worker.reply_to("GET", kNil);
    worker.reply_to("read_usage", no_counts(worker, 14));
    REQUIRE(worker.open() == Names{"HGETALL"});
    worker.reply_record();
    CHECK(client.status == 200);
    CHECK(client.ended());
    CHECK(worker.idle());
}

TEST_CASE("usage: without a state, a key is read again once per second",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    const auto ask = [&] {
        auto client = std::make_unique<FakeClient>(worker, Method::get, kUsage);
        client->start_usage();
        return client;
    };
    const auto first = ask();
    worker.reply_to("read_usage", no_counts(worker, 1));
    worker.reply_to("GET", kNil);
    worker.reply_to("read_usage", no_counts(worker, 14));
    worker.clock.advance(300);
    worker.reply_record();
    CHECK(first->status == 200);

    // Counted from when Redis was asked.
    worker.clock.advance(599);
    CHECK(ask()->status == 200);
    CHECK(worker.idle());
    worker.clock.advance(1);
    const auto later = ask();
    CHECK(worker.open() == Names{"HGETALL"});
    worker.reply_record({{"disabled", "1"}});
    CHECK(later->status == 401);
}

TEST_CASE("usage: limits on another Redis are not shown as unused", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    worker.reply_to("read_usage", no_counts(worker, 1));
    worker.reply_to("GET", bulk("elsewhere"));
    CHECK(client.status == 503);
    CHECK(worker.log.events[store::Event::limits_elsewhere] == 1);
    CHECK(client.ended());
}

TEST_CASE("usage: a ban shows in the rate headers alone", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    Account banned;
    banned.ban_for = 300'000;
    worker.reply_to("read_usage", counts(worker, banned));
    CHECK(client.status == 200);
    CHECK(client.rate()[1] == 0);
    CHECK(client.rate()[2] == worker.now() + 300);
    CHECK(json::parse(client.body)["windows"][0]["remaining"] == 57);
}

TEST_CASE("usage: the month is that of Redis's clock", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    const auto day = api::kDaySeconds * 1000;
    worker.clock.host += 20 * day;  // December
    Account later;
    worker.reply_to("read_usage", counts(worker, later));
    REQUIRE(worker.open() == Names{"read_usage"});
    CHECK(worker.link.commands[0].back() == "petstore:{a1}:usage:202312");
    worker.reply_to("read_usage", counts(worker, later));
    CHECK(client.status == 200);
    const auto usage = json::parse(client.body);
    CHECK(usage["today"] == 0);
    CHECK(usage["month"] == 0);
    CHECK(usage["last_used"] == "2023-11-14");
}

TEST_CASE("usage: failures", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    SECTION("a lost reply")
    {
        worker.link.lose(NoReply::in_doubt);
        CHECK(client.status == 503);
        CHECK(client.state().error_code == "service_unavailable");
    }
    SECTION("damage")
    {
        worker.reply_to("read_usage", integer(1));
        CHECK(client.status == 500);
        CHECK(worker.log.damaged_keys == Names{"petstore:{a1}:state"});
        CHECK(client.body.find("a1") == std::string::npos);
    }
    SECTION("damage of the limits marker")
    {
        worker.reply_to("read_usage", no_counts(worker, 1));
        worker.reply_to("GET", "-WRONGTYPE no\r\n");
        CHECK(client.status == 500);
        CHECK(worker.log.damaged_keys == Names{"petstore:limits-place"});
        CHECK(client.body.find("limits-place") == std::string::npos);
    }
    SECTION("an error of Redis")
    {
        worker.reply_to("read_usage", "-LOADING Redis is loading\r\n");
        CHECK(client.status == 503);
    }
    CHECK(client.ended());
    // Nothing is kept.
    FakeClient next(worker, Method::get, kUsage);
    next.start_usage();
    CHECK(worker.open() == Names{"read_usage"});
    worker.reply_to("read_usage", counts(worker));
    CHECK(next.status == 200);
}

TEST_CASE("usage: a key that has expired by the reply is refused", "[service]")
{
    FakeWorker worker;
    const auto end = worker.clock.host / 1000 + 2;
    worker.know_key({{"expires", std::to_string(end)}});
    FakeClient client(worker, Method::get, kUsage);
    client.start_usage();
    worker.reply_clock();
    worker.clock.advance(3000);
    worker.reply_to("read_usage", counts(worker));
    CHECK(client.status == 401);
    CHECK(client.ended());
}

TEST_CASE("usage: methods", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    SECTION("OPTIONS needs no key")
    {
        FakeClient client(worker, Method::options, kUsage);
        client.request().headers.clear();
        client.start_usage();
        CHECK(client.status == 204);
        CHECK(client.allow == "GET, HEAD, OPTIONS");
        CHECK(client.state().operation == api::Operation::none);
    }
    SECTION("others are refused after the key, with its rate")
    {
        FakeClient client(worker, Method::post, kUsage);
        client.start_usage();
        worker.reply_to("read_usage", counts(worker));
        CHECK(client.status == 405);
        CHECK(client.allow == "GET, HEAD, OPTIONS");
        CHECK(client.rate() == Rate{60, 57, worker.now() + 30});
    }
    SECTION("without a key")
    {
        FakeClient client(worker, Method::post, kUsage);
        client.request().headers.clear();
        client.start_usage();
        CHECK(client.status == 401);
    }
    CHECK(worker.idle());
}

TEST_CASE("usage: a decision about the client's request is shown first",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker);
    main.send_and_admit();
    const auto rate = main.rate();
    FakeClient part(worker, main, kUsage);
    part.start_usage();
    Account other;
    other.minute = 50;
    while (!worker.idle() && worker.open()[0] != "read_usage") {
        worker.reply();
    }
    worker.reply_to("read_usage", counts(worker, other));
    CHECK(part.status == 200);
    CHECK(main.rate() == rate);
    CHECK(main.state().windows == nullptr);
}
