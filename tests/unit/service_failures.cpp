// Responses while Redis fails or holds damaged data.
#include "api/text.h"
#include "service_test.h"

namespace {

// A 503 with Retry-After.
void check_unavailable(FakeClient& client)
{
    CHECK(client.status == 503);
    CHECK(client.state().error_code == "service_unavailable");
    CHECK(client.state().limit_status == api::LimitStatus::unavailable);
    CHECK(client.retry_after == 1);
    CHECK(client.ended());
}

}  // namespace

TEST_CASE("a failed lookup of a key is not a 401", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    SECTION("not sent")
    {
        worker.link.full = true;
        client.start();
    }
    SECTION("lost")
    {
        client.start();
        worker.link.lose(NoReply::in_doubt);
    }
    SECTION("an error of Redis")
    {
        client.start();
        worker.reply_to("HGETALL", "-LOADING x\r\n");
    }
    check_unavailable(client);
    CHECK(client.body
          == R"({"code":"service_unavailable","message":"The service is )"
             R"(temporarily unavailable. Try again later.","status":503})");
    // Nothing is known about the key, so the limit of a free one is reported.
    CHECK(client.rate() == Rate{60, 0, worker.now() + 1});
    CHECK(client.authenticate.empty());
    CHECK(client.request().counted == 0);

    worker.link.full = false;
    FakeClient again(worker);
    again.start();
    CHECK(worker.open() == Names{"HGETALL"});
}

TEST_CASE("requests beyond those that may wait for Redis are refused at once",
          "[service]")
{
    constexpr std::size_t kMost = 16'384;
    FakeWorker worker;
    SECTION("for a lookup") {}
    SECTION("for the limiter")
    {
        worker.know_key();
    }
    FakeClient waiting(worker);
    waiting.start();
    CHECK(worker.storage.waiting_requests == 1);
    worker.storage.waiting_requests += kMost - 1;

    FakeClient refused(worker);
    refused.start();
    check_unavailable(refused);
    CHECK(worker.log.events[store::Event::request_refused] == 1);
    CHECK(worker.storage.waiting_requests == kMost);

    // When one request ends, another may wait.
    worker.link.end_iteration();
    worker.link.lose(NoReply::not_sent);
    CHECK(worker.storage.waiting_requests == kMost - 1);
    FakeClient next(worker);
    next.start();
    CHECK_FALSE(next.ended());
    CHECK(worker.storage.waiting_requests == kMost);
}

TEST_CASE("a damaged key record is an internal error", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_to("HGETALL", GENERATE(as<std::string>{},
                                        FakeWorker::record({{"epoch", "x"}}),
                                        "-WRONGTYPE x\r\n"));
    CHECK(client.status == 500);
    CHECK(client.body
          == R"({"code":"internal_error","message":"Stored data are )"
             R"(damaged.","status":500})");
    CHECK(client.state().error_code == "internal_error");
    CHECK(client.state().limit_status == api::LimitStatus::unavailable);
    CHECK(client.rate() == Rate{60, 0, worker.now() + 1});
    CHECK(client.retry_after == 0);
    CHECK(
        worker.log.damaged_keys
        == Names{"petstore:key:"
                 + api::to_hex(api::bytes_of(api::sha256(FakeWorker::kKey)))});
    CHECK(client.ended());
}

TEST_CASE("a damaged account record is an internal error", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_record({}, {{"plan", "Pro"}});
    CHECK(client.status == 500);
    CHECK(worker.cached_key() == nullptr);
}

TEST_CASE("a store of an earlier version is unavailable", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_to("HGETALL", FakeWorker::record());
    worker.reply_to("account", array({}));
    check_unavailable(client);
    CHECK(worker.log.accounts_without_record == Names{"a1"});
}

TEST_CASE("a request that the limiter did not decide on is refused",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.start();
    SECTION("not sent")
    {
        worker.link.full = true;
        worker.link.end_iteration();
    }
    SECTION("lost")
    {
        worker.link.end_iteration();
        worker.link.lose(NoReply::in_doubt);
    }
    SECTION("lost before it was sent")
    {
        worker.link.end_iteration();
        worker.link.lose(NoReply::not_sent);
    }
    SECTION("an error of Redis")
    {
        worker.link.end_iteration();
        worker.reply_to("limit", "-OOM x\r\n");
    }
    SECTION("an unknown script, also by its text")
    {
        worker.link.end_iteration();
        worker.reply_to("limit", "-NOSCRIPT x\r\n");
        CHECK(client.responses == 0);
        CHECK(worker.open() == Names{"LRANGE", "text of limit"});
        worker.reply_to("LRANGE", FakeWorker::three_pets());
        worker.reply_to("text of limit", "-NOSCRIPT x\r\n");
        worker.reply_to("text of limit", "-NOSCRIPT x\r\n");
    }
    check_unavailable(client);
    CHECK(client.rate() == Rate{60, 0, worker.now() + 1});
    CHECK(client.state().decision.stage != DecisionStage::made);
    CHECK(client.state().decision.asker == nullptr);
    CHECK(worker.log.events[store::Event::unexpected_limiter_reply] == 0);
    // The key may be valid.
    CHECK(client.state().key.valid == worker.cached_key());
    CHECK(worker.cached_key() != nullptr);
}

TEST_CASE("without Redis clients see the rate that it last reported",
          "[service]")
{
    FakeWorker worker;
    worker.know_key({{"plan", "pro"}});
    FakeClient first(worker, Method::get, "/v1/nothing");
    first.send();
    worker.reply_limit({1, 100, 200});
    CHECK(first.rate() == Rate{300, 200, worker.now() + 30});

    const auto then = worker.now();
    worker.clock.advance(5000);
    FakeClient client(worker);
    client.start();
    worker.link.full = true;
    worker.link.end_iteration();
    check_unavailable(client);
    CHECK(client.rate() == Rate{300, 200, then + 30});
}

TEST_CASE("a reply that is not the limiter's is logged and admits nobody",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    worker.reply_to("limit", GENERATE(as<std::string>{}, "+OK\r\n", "*0\r\n",
                                      "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"));
    check_unavailable(client);
    CHECK(client.body
          == R"({"code":"service_unavailable","message":"The request could )"
             R"(not be counted. Please try again later.","status":503})");
    CHECK(worker.log.events[store::Event::unexpected_limiter_reply] == 1);
    CHECK(worker.log.damaged_keys.empty());
    CHECK(client.state().decision.stage != DecisionStage::made);
}

TEST_CASE("a damaged account is an internal error", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    worker.reply_to(
        "limit", limit_reply({answer(-2, bulk(""))}, stamp(worker.clock.host)));
    CHECK(client.status == 500);
    CHECK(client.state().error_code == "internal_error");
    CHECK(client.state().limit_status == api::LimitStatus::unavailable);
    CHECK(worker.log.damaged_keys == Names{"petstore:{a1}:state"});
    CHECK(worker.log.events[store::Event::unexpected_limiter_reply] == 0);
    CHECK(client.ended());
}

TEST_CASE("the limiter's script is sent once more with its text", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, "/v1/nothing");
    client.send();
    worker.reply_to("limit", "-NOSCRIPT x\r\n");
    CHECK(client.responses == 0);
    worker.reply_to("text of limit", worker.limit_reply({{}}));
    CHECK(client.status == 404);
    CHECK(client.state().limit_status == api::LimitStatus::passed);
}

TEST_CASE("the time that Redis takes is measured from the first command",
          "[service]")
{
    FakeWorker worker;
    FakeClient client(worker, Method::get, "/v1/nothing");
    worker.clock.advance(10);
    client.start();
    worker.clock.advance(3);
    worker.reply_record();
    CHECK(client.state().redis_time.passed == 3);
    worker.link.end_iteration();
    worker.clock.advance(4);
    worker.admit();
    CHECK(client.state().redis_time.started);
    CHECK(client.state().redis_time.started == 5010);
    CHECK(client.state().redis_time.passed == 7);
}
