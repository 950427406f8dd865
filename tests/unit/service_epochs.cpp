// Changes of a key take effect with the next request.
#include "service_test.h"

namespace {

constexpr char kNothing[] = "/v1/nothing";

FakeWorker::Account stale(std::int64_t epoch)
{
    return {-1, 0, 0, 0, epoch};
}

}  // namespace

TEST_CASE("a record of an older epoch is read again", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kNothing);
    client.send();
    worker.reply_limit(stale(8));
    CHECK(client.responses == 0);
    CHECK(worker.open() == Names{"HGETALL"});
    CHECK(worker.cached_key() == nullptr);

    // The new plan applies.
    worker.reply_record({{"epoch", "8"}, {"plan", "pro"}});
    worker.link.end_iteration();
    REQUIRE(worker.open() == Names{"limit"});
    CHECK(worker.link.commands[0].back() == asked({{8, 300, 10'000, 1, 1}}));
    worker.reply_limit({1, 3, 40, 0, 8});
    CHECK(client.status == 404);
    CHECK(client.rate() == Rate{300, 297, worker.now() + 30});
    CHECK(client.ended());
}

TEST_CASE("a request is checked once, however often its record is read",
          "[service]")
{
    // If a second handler replaced the first, LeakSanitizer would report it.
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, "/v1/pets");
    client.request().arguments = "limit=none";  // whose error allocates memory
    client.send();
    worker.reply_limit(stale(8));
    worker.reply_record({{"epoch", "8"}});
    worker.link.end_iteration();
    worker.reply_limit({1, 3, 40, 0, 8});
    CHECK(client.status == 400);
    CHECK(client.ended());
}

TEST_CASE("a record written before the epoch is as new as the epoch",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kNothing);
    client.send();
    worker.reply_limit(stale(9));
    // Another key of the account was changed.
    worker.reply_record({{"epoch", "7"}});
    worker.link.end_iteration();
    CHECK(worker.link.commands[0].back() == asked({{9, 60, 1000, 1, 1}}));
}

TEST_CASE("a newer record that another request has read is used", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker, Method::get, kNothing);
    first.send();
    FakeClient second(worker, Method::get, kNothing);
    second.start();
    worker.reply_limit(stale(8));
    worker.link.end_iteration();
    CHECK(worker.open() == Names{"HGETALL", "limit"});
    worker.reply_record({{"epoch", "8"}});
    worker.reply_limit(stale(8));

    // No second lookup. Only the first has just read the record.
    worker.link.end_iteration();
    REQUIRE(worker.open() == Names{"limit", "limit"});
    CHECK(worker.link.commands[0].back() == asked({{8, 60, 1000, 1, 1}}));
    CHECK(worker.link.commands[1].back() == asked({{8, 60, 1000, 1, 0}}));
    worker.reply_limit({1, 3, 40, 0, 8});
    worker.reply_limit({1, 4, 41, 0, 8});
    CHECK(first.status == 404);
    CHECK(second.status == 404);
}

TEST_CASE("a record in memory that is still too old is read again", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker, Method::get, kNothing);
    first.send();
    FakeClient second(worker, Method::get, kNothing);
    second.start();
    worker.reply_limit(stale(8));
    worker.link.end_iteration();
    worker.reply_record({{"epoch", "8"}});
    worker.reply_limit(stale(9));  // changed once more
    worker.link.end_iteration();
    CHECK(worker.open() == Names{"HGETALL", "limit"});
    worker.reply_record({{"epoch", "9"}});
    CHECK(worker.cached_key()->epoch == 9);
}

TEST_CASE("requests with the same stale record share one lookup", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker, Method::get, kNothing);
    FakeClient second(worker, Method::get, kNothing);
    first.start();
    second.send();
    worker.reply_limit(stale(8));
    REQUIRE(worker.open() == Names{"HGETALL"});
    worker.reply_record({{"epoch", "8"}});
    worker.link.end_iteration();
    REQUIRE(worker.open() == Names{"limit"});
    CHECK(worker.link.commands[0].back() == asked({{8, 60, 1000, 2, 1}}));
    worker.reply_limit({2, 4, 41, 0, 8});
    CHECK(first.rate() == Rate{60, 57, worker.now() + 30});
    CHECK(second.rate() == Rate{60, 56, worker.now() + 30});
}

TEST_CASE("a record that stays stale is given up after a command's time",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kNothing);
    client.start();
    const auto change = [&](int i) {
        worker.link.end_iteration();
        worker.reply_limit(stale(8 + i));
        CHECK(client.responses == 0);
        worker.reply_record({{"epoch", std::to_string(8 + i)}});
    };
    worker.clock.advance(10'000);  // its body may come long after its head
    for (int i = 0; i < 500; ++i) {
        change(i);
        worker.clock.advance(1);
    }
    worker.link.end_iteration();
    SECTION("unless a read is in time")
    {
        worker.clock.advance(1000);
        worker.reply_limit({1, 2, 41, 0, 507});
        CHECK(client.status == 404);
        return;
    }
    worker.reply_limit(stale(600));
    CHECK(client.status == 503);
    CHECK(client.state().error_code == "service_unavailable");
    CHECK(client.state().limit_status == api::LimitStatus::unavailable);
    CHECK(client.retry_after == 1);
    CHECK(worker.log.events[store::Event::changed_too_often] == 1);
    CHECK(worker.log.events[store::Event::unexpected_limiter_reply] == 0);
    CHECK(client.ended());
    CHECK(worker.idle());
}

TEST_CASE("a stale record is read again, however slow Redis is", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kNothing);
    client.start();
    for (int i = 0; i < 8; ++i) {
        worker.link.end_iteration();
        worker.reply_limit(stale(8 + i));
        CHECK(client.responses == 0);
        worker.clock.advance(1000);
        worker.reply_record({{"epoch", std::to_string(8 + i)}});
    }
    worker.link.end_iteration();
    worker.reply_limit(stale(600));
    CHECK(client.status == 503);
    CHECK(worker.idle());
}

TEST_CASE("a key removed meanwhile is refused", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kNothing);
    client.send();
    worker.reply_limit(stale(8));
    worker.reply_no_record();
    CHECK(client.status == 401);
    CHECK(client.state().error_code == "invalid_api_key");
    CHECK(client.state().limit_status == api::LimitStatus::denied);
    CHECK(client.state().key.valid == nullptr);
    CHECK(client.rate() == Rate{60, 59, 1'700'000'060});
    CHECK(client.request().counted == 1);

    // The next request is refused, too, without a lookup.
    FakeClient next(worker, Method::get, kNothing);
    next.start();
    CHECK(next.status == 401);
    CHECK(worker.idle());
}

TEST_CASE("a key disabled meanwhile is refused", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kNothing);
    client.send();
    worker.reply_limit(stale(8));
    worker.reply_record({{"epoch", "8"}, {"disabled", "1"}});
    worker.link.end_iteration();
    CHECK(client.status == 401);
    CHECK(client.state().limit_status == api::LimitStatus::denied);
    CHECK(worker.idle());
}

TEST_CASE("a record that cannot be read again is a failure", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, kNothing);
    client.send();
    worker.reply_limit(stale(8));
    worker.link.lose(NoReply::in_doubt);
    CHECK(client.status == 503);
    CHECK(client.state().error_code == "service_unavailable");
    CHECK(client.ended());
}

TEST_CASE("an unban ends the denial from memory with the next report",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker, Method::get, kNothing);
    first.send();
    worker.reply_limit({0, 60, 70, 300'000});
    CHECK(first.state().limit_status == api::LimitStatus::banned);

    worker.clock.advance(500);
    FakeClient second(worker, Method::get, kNothing);
    second.start();
    CHECK(second.state().limit_status == api::LimitStatus::banned);
    worker.reply_strike(-1, false, {0, 0, 0, 0, 8});

    FakeClient third(worker, Method::get, kNothing);
    third.send();
    worker.reply_limit(stale(8));
    worker.reply_record({{"epoch", "8"}});
    worker.link.end_iteration();
    worker.reply_limit({1, 3, 40, 0, 8});
    CHECK(third.status == 404);
    CHECK(third.state().limit_status == api::LimitStatus::passed);
}

TEST_CASE("nothing is read ahead again after the record was reread",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    CHECK(worker.open() == Names{"limit", "LRANGE"});
    worker.reply_limit(stale(8));
    CHECK(worker.open() == Names{"LRANGE", "HGETALL"});
    worker.reply_to("LRANGE", array({bulk("s7:Rex")}));
    worker.reply_record({{"epoch", "8"}});
    worker.link.end_iteration();
    CHECK(worker.open() == Names{"limit"});
    worker.count = bulk("1");
    worker.reply_limit({1, 3, 40, 0, 8});
    // Data read before the decision are not used.
    CHECK(client.responses == 0);
    CHECK(worker.open() == Names{"LRANGE"});
    worker.reply_to("LRANGE", array({bulk("a7:Rex")}));
    CHECK(client.body
          == R"([{"id":1,"name":"Rex","categoryId":7,"status":"available"}])");
}
