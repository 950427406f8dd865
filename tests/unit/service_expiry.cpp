// When a key expires, by the clock of its account's Redis.
#include "service_test.h"

namespace {

constexpr int kHour = 3'600'000;

FakeWorker::Fields expiring(const FakeWorker& worker, int seconds)
{
    return {{"expires", std::to_string(worker.now() + seconds)}};
}

// Sends a request with the key, which the worker then reads.
struct FirstRequest {
    FirstRequest(FakeWorker& worker, const FakeWorker::Fields& record)
        : client(worker)
    {
        client.start();
        worker.reply_record(record);
    }

    FakeClient client;
};

int clock_questions(const FakeWorker& worker)
{
    int count = 0;
    for (const auto& command : worker.link.sent) {
        count += FakeWorker::name_of(command) == "clock" ? 1 : 0;
    }
    return count;
}

bool reads_record(const FakeWorker& worker)
{
    return FakeWorker::name_of(worker.link.commands.front()) == "HGETALL";
}

}  // namespace

TEST_CASE("a key expires by Redis's clock", "[service]")
{
    FakeWorker worker;
    const auto record = expiring(worker, 10);
    // This host is an hour behind.
    worker.clock.host -= kHour;
    FirstRequest first(worker, record);
    CHECK(worker.open() == Names{"clock"});
    worker.reply_clock(kHour);
    worker.link.end_iteration();
    worker.clock.host += kHour;
    const auto reply = worker.limit_reply({{}});
    worker.clock.host -= kHour;
    worker.reply_to("limit", reply);
    CHECK(worker.open() == Names{"LRANGE"});
    CHECK(first.client.responses == 0);
    CHECK(first.client.state().limit_status == api::LimitStatus::passed);

    worker.clock.advance(9'999);
    FakeClient second(worker, Method::get, "/v1/nothing");
    second.send();
    CHECK(worker.open() == Names{"LRANGE", "limit"});
    worker.reply_to("LRANGE", FakeWorker::three_pets());
    worker.link.lose(NoReply::not_sent);

    worker.clock.advance(1);
    FakeClient third(worker, Method::get, "/v1/nothing");
    third.start();
    worker.reply_clock(kHour);
    worker.reply_record(record);
    CHECK(third.status == 401);
    CHECK(third.state().error_code == "invalid_api_key");
    CHECK(worker.idle());
}

TEST_CASE("an expired key is refused without a charge", "[service]")
{
    FakeWorker worker;
    FirstRequest asked(worker, expiring(worker, 0));
    FakeClient& client = asked.client;
    worker.reply_clock();
    worker.link.end_iteration();
    CHECK(worker.idle());
    CHECK(client.status == 401);
    CHECK(client.state().error_code == "invalid_api_key");
    CHECK(client.state().limit_status == api::LimitStatus::denied);
    CHECK(client.state().key.valid == nullptr);
    CHECK(client.rate() == Rate{60, 59, 1'700'000'060});
    CHECK(client.ended());
    CHECK(worker.cached_key() == nullptr);
}

TEST_CASE("a key that expires while the limiter is asked is refused",
          "[service]")
{
    FakeWorker worker;
    FirstRequest asked(worker, expiring(worker, 1));
    worker.reply_clock();
    worker.clock.advance(600);
    worker.link.end_iteration();
    worker.clock.advance(400);
    worker.settings.enforce_address_limit = true;
    asked.client.request().address = {{5, 0, worker.now() + 9}, true};
    worker.admit();
    // It was charged: the limits of the account apply, not the address's.
    CHECK(asked.client.status == 401);
    CHECK(asked.client.request().counted == 0);
    CHECK(asked.client.state().limit_status == api::LimitStatus::denied);
    CHECK(asked.client.rate()[0] == 60);
    worker.settings.enforce_address_limit = false;
    FakeClient again(worker);
    again.start();
    CHECK(again.status == 401);
}

TEST_CASE("requests with an expired key share one question a second",
          "[service]")
{
    FakeWorker worker;
    const auto record = expiring(worker, 0);
    FirstRequest first(worker, record);
    // While it is open.
    FakeClient second(worker);
    second.start();
    CHECK(worker.open() == Names{"clock"});
    worker.reply_clock();
    CHECK(first.client.status == 401);
    CHECK(second.status == 401);

    for (int i = 0; i < 500; ++i) {
        worker.clock.advance(20);
        FakeClient client(worker);
        client.start();
        while (!worker.idle()) {
            reads_record(worker) ? worker.reply_record(record)
                                 : worker.reply_clock();
        }
        REQUIRE(client.status == 401);
    }
    CHECK(clock_questions(worker) <= 11);
    CHECK(worker.link.sent.size() <= 55);
}

TEST_CASE("an expired key works a second after Redis's clock was set right",
          "[service]")
{
    FakeWorker worker;
    const auto record = expiring(worker, 60);
    FirstRequest first(worker, record);
    worker.reply_clock(kHour);
    CHECK(first.client.status == 401);

    int milliseconds = 0;
    for (; milliseconds < 3'000; milliseconds += 10) {
        worker.clock.advance(10);
        FakeClient client(worker, Method::get, "/v1/nothing");
        client.start();
        while (!worker.idle()
               && FakeWorker::name_of(worker.link.commands.front())
                      != "limit") {
            reads_record(worker) ? worker.reply_record(record)
                                 : worker.reply_clock();
        }
        if (client.status == 401) {
            continue;
        }
        worker.link.end_iteration();
        worker.admit();
        CHECK(client.status == 404);
        break;
    }
    CHECK(milliseconds <= 1'100);
}

TEST_CASE("a request fails if Redis's clock cannot be read", "[service]")
{
    FakeWorker worker;
    const auto record = expiring(worker, 0);
    FirstRequest first(worker, record);
    FakeClient second(worker);
    second.start();
    SECTION("no reply")
    {
        worker.link.lose(NoReply::in_doubt);
    }
    SECTION("an error")
    {
        worker.reply_to("clock", "-LOADING x\r\n");
    }
    SECTION("not a time")
    {
        worker.reply_to("clock", array({bulk("1"), bulk("x")}));
    }
    CHECK(first.client.status == 503);
    CHECK(second.status == 503);
    CHECK(first.client.state().decision.stage != DecisionStage::lost);

    // The next one asks again.
    FakeClient third(worker);
    third.start();
    CHECK(worker.open() == Names{"clock"});
    worker.reply_clock();
    worker.reply_record(record);
    CHECK(third.status == 401);
}

TEST_CASE("a key that was remembered as expired may have a later end",
          "[service]")
{
    FakeWorker worker;
    FirstRequest first(worker, expiring(worker, 10));
    worker.reply_clock();
    worker.link.end_iteration();
    worker.admit();
    worker.reply_to("LRANGE", FakeWorker::three_pets());
    REQUIRE(first.client.ended());

    worker.clock.advance(10'000);
    FakeClient second(worker, Method::get, "/v1/nothing");
    second.start();
    worker.reply_clock();
    CHECK(reads_record(worker));
    worker.reply_record(expiring(worker, 60));
    worker.link.end_iteration();
    worker.admit();
    CHECK(second.status == 404);
    CHECK(worker.idle());
}

TEST_CASE("a client may leave while Redis's clock is read", "[service]")
{
    FakeWorker worker;
    FirstRequest first(worker, expiring(worker, 0));
    first.client.leave();
    worker.reply_clock();
    CHECK(first.client.responses == 0);
    CHECK(worker.idle());
}
