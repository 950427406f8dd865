// Every reason to refuse a request, and its response.
#include "service_test.h"

namespace {

// The body of an error response.
std::string error_body(std::string_view code, std::string_view message,
                       int status)
{
    return "{\"code\":\"" + std::string(code) + "\",\"message\":\""
           + std::string(message) + "\",\"status\":" + std::to_string(status)
           + "}";
}

const FakeWorker::Account kMinuteUsedUp{0, 60, 70};
const FakeWorker::Account kDayUsedUp{0, 12, 1000};

}  // namespace

TEST_CASE("a key is read once, then the limiter is asked", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    CHECK(worker.open() == Names{"HGETALL"});
    CHECK(worker.link.sent[0][1]
          == worker.storage.schema.key_record(api::sha256(FakeWorker::kKey)));
    worker.reply_record();
    CHECK(worker.idle());
    worker.link.end_iteration();
    REQUIRE(worker.open() == Names{"limit", "LRANGE"});
    CHECK(worker.link.commands[0][3] == "petstore:{a1}:state");
    // The record was read a moment ago.
    CHECK(worker.link.commands[0].back() == asked({{7, 60, 1000, 1, 1}}));
    CHECK(client.responses == 0);

    FakeClient second(worker);
    worker.admit();
    second.send();
    REQUIRE(worker.open() == Names{"LRANGE", "limit"});
    CHECK(worker.link.commands[1].back() == asked({{7, 60, 1000, 1, 0}}));
}

TEST_CASE("an admitted request has the rate of the window with less left",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, "/v1/nothing");
    client.send();
    SECTION("the minute")
    {
        worker.reply_limit({1, 3, 40});
        CHECK(client.rate() == Rate{60, 57, worker.now() + 30});
    }
    SECTION("the day")
    {
        worker.reply_limit({1, 3, 990});
        CHECK(client.rate() == Rate{1000, 10, worker.now() + 50'000});
    }
    SECTION("the last request of both, which reset at different times")
    {
        worker.reply_limit({1, 60, 1000});
        CHECK(client.rate() == Rate{1000, 0, worker.now() + 50'000});
    }
    CHECK(client.state().limit_status == api::LimitStatus::passed);
    CHECK(client.state().decision.stage == DecisionStage::made);
    CHECK(client.state().decision.value.verdict == api::Verdict::admitted);
    REQUIRE(client.state().key.valid);
    CHECK(client.state().key.valid->record.id() == "k1");
    CHECK(client.retry_after == 0);
    CHECK(client.request().counted == 0);
}

TEST_CASE("a request over the minute limit is refused until the minute ends",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    worker.reply_limit(kMinuteUsedUp);
    CHECK(client.status == 429);
    CHECK(
        client.body
        == error_body(
            "rate_limit_exceeded",
            "Rate limit exceeded: 60 requests per minute. Retry in 30 seconds.",
            429));
    CHECK(client.retry_after == 30);
    CHECK(client.rate() == Rate{60, 0, worker.now() + 30});
    CHECK(client.state().limit_status == api::LimitStatus::limited);
    CHECK(client.state().error_code == "rate_limit_exceeded");
    CHECK(client.authenticate.empty());
    CHECK(client.ended());
    // The response does not wait for what was read ahead.
    CHECK(worker.open() == Names{"LRANGE"});
}

TEST_CASE("a request over the day limit is refused until the day ends",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    worker.reply_limit(kDayUsedUp);
    CHECK(client.status == 429);
    CHECK(
        client.body
        == error_body(
            "rate_limit_exceeded",
            "Rate limit exceeded: 1000 requests per day. Retry in 50000 seconds.",
            429));
    CHECK(client.retry_after == 50'000);
    CHECK(client.rate() == Rate{1000, 0, worker.now() + 50'000});
    CHECK(client.state().limit_status == api::LimitStatus::limited);
}

TEST_CASE("a request over both limits is refused until the later end",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    worker.reply_limit({0, 60, 1000});
    CHECK(client.retry_after == 50'000);
    CHECK(client.rate() == Rate{1000, 0, worker.now() + 50'000});
}

TEST_CASE("a banned account is refused until the ban ends", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    worker.reply_limit({0, 60, 70, 299'001});
    CHECK(client.status == 429);
    CHECK(
        client.body
        == error_body(
            "api_key_banned",
            "This API key is banned for too many requests over its limit. Retry in 300 seconds.",
            429));
    CHECK(client.retry_after == 300);
    CHECK(client.rate() == Rate{60, 0, worker.now() + 300});
    CHECK(client.state().limit_status == api::LimitStatus::banned);
    CHECK(client.state().error_code == "api_key_banned");
}

TEST_CASE("a denial asks clients to wait at least a second", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.send();
    auto ended = kMinuteUsedUp;
    ended.minute_ends_in = 0;
    worker.reply_limit(ended);
    CHECK(client.status == 429);
    CHECK(client.retry_after == 1);
}

TEST_CASE("a key's own limits replace the plan's", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_record(
        {{"plan", "enterprise"}, {"per_minute", "5"}, {"per_day", "50"}});
    worker.link.end_iteration();
    CHECK(worker.link.commands[0].back() == asked({{7, 5, 50, 1, 1}}));
    worker.reply_limit({1, 2, 2});
    CHECK(client.rate() == Rate{5, 3, worker.now() + 30});
}

TEST_CASE("the requests of an account in one iteration share a command",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker, Method::get, "/v1/nothing");
    FakeClient second(worker, Method::get, "/v1/nothing");
    FakeClient third(worker, Method::get, "/v1/nothing");
    first.start();
    second.start();
    third.send();
    CHECK(worker.open() == Names{"limit"});
    worker.reply_limit({2, 60, 70});
    CHECK(first.status == 404);
    CHECK(first.rate() == Rate{60, 1, worker.now() + 30});
    CHECK(second.status == 404);
    CHECK(second.rate() == Rate{60, 0, worker.now() + 30});
    CHECK(third.status == 429);
    CHECK(third.rate() == Rate{60, 0, worker.now() + 30});
}

// --- requests without a valid key --------------------------------------------

TEST_CASE("a refused key's id is known if it has a record", "[service]")
{
    using api::KeyRefusal;
    struct Case {
        FakeWorker::Fields record;
        KeyRefusal refusal;
    };
    const auto [record, refusal] =
        GENERATE(Case{{{"disabled", "1"}}, KeyRefusal::disabled},
                 Case{{{"expires", "1700000000"}}, KeyRefusal::expired},
                 Case{{{"disabled", "1"}, {"expires", "1700000000"}},
                      KeyRefusal::disabled});
    FakeWorker worker;
    FakeClient client(worker);
    SECTION("of the API")
    {
        client.start();
    }
    SECTION("of a guarded location")
    {
        client.start_guard();
    }
    worker.reply_record(record);
    const bool asked = refusal == KeyRefusal::expired;
    if (asked) {
        worker.reply_clock();
    }
    CHECK(client.status == 401);
    CHECK(client.state().key.valid == nullptr);
    CHECK(client.state().key.refused.refusal == refusal);
    REQUIRE(client.state().key.refused.id != nullptr);
    CHECK(*client.state().key.refused.id == "k1");

    // From memory.
    FakeClient again(worker);
    again.start();
    CHECK(again.status == 401);
    CHECK(again.state().key.refused.refusal == refusal);
    REQUIRE(again.state().key.refused.id != nullptr);
    CHECK(*again.state().key.refused.id == "k1");
    // A disabled key is refused without its account's record.
    CHECK(worker.link.sent.size() == (asked ? 3 : 1));
}

TEST_CASE("the keys of a disabled account are refused as disabled", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_record({}, {{"disabled", "1"}});
    CHECK(client.status == 401);
    CHECK(client.state().key.refused.refusal == api::KeyRefusal::disabled);
    REQUIRE(client.state().key.refused.id != nullptr);
    CHECK(*client.state().key.refused.id == "k1");
    CHECK(worker.cached_key() == nullptr);
}

TEST_CASE("the keys of a deleted account are unknown", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_record({}, {{"deleted", "1"}});
    CHECK(client.status == 401);
    CHECK(client.state().key.refused.refusal == api::KeyRefusal::unknown);
}

TEST_CASE("an unknown key has no id", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_no_record();
    CHECK(client.state().key.refused.refusal == api::KeyRefusal::unknown);
    CHECK(client.state().key.refused.id == nullptr);
    FakeClient again(worker);
    again.start();
    CHECK(again.state().key.refused.refusal == api::KeyRefusal::unknown);
    CHECK(again.state().key.refused.id == nullptr);
}

TEST_CASE("a key that is not looked up is not refused", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    SECTION("an admitted request")
    {
        worker.know_key();
        client.send_and_admit();
        CHECK(client.state().key.valid != nullptr);
    }
    SECTION("Redis is away")
    {
        client.start();
        worker.link.lose(NoReply::not_sent);
        CHECK(client.status == 503);
    }
    SECTION("OPTIONS")
    {
        client.request().verb = Method::options;
        client.request().headers.erase("Authorization");
        client.start();
        CHECK(client.status == 204);
    }
    CHECK(client.state().key.refused.refusal == api::KeyRefusal::none);
    CHECK(client.state().key.refused.id == nullptr);
}

TEST_CASE("a key enabled before an internal redirect is not refused after it",
          "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start_guard();
    worker.reply_record({{"disabled", "1"}});
    CHECK(client.state().key.refused.refusal == api::KeyRefusal::disabled);

    worker.clock.advance(1000);
    FakeClient page(worker, client, "/v1/pets", FakeClient::Part::redirect);
    page.start_guard();
    worker.reply_record();
    worker.end_and_admit();
    REQUIRE(page.state().key.valid != nullptr);
    CHECK(page.state().key.refused.refusal == api::KeyRefusal::none);
    CHECK(page.state().key.refused.id == nullptr);
}

TEST_CASE("a request without an API key is refused without Redis", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    SECTION("no header")
    {
        client.request().headers.erase("Authorization");
    }
    SECTION("another scheme")
    {
        client.request().headers["Authorization"] = "Basic YTpi";
    }
    SECTION("an empty token")
    {
        client.request().headers["Authorization"] = "Bearer  ";
    }
    client.start();
    CHECK(client.status == 401);
    CHECK(
        client.body
        == error_body(
            "missing_api_key",
            "An API key is required: \\\"Authorization: Bearer <API_KEY>\\\".",
            401));
    CHECK(client.authenticate == "Bearer realm=\"petstore\"");
    CHECK(client.rate() == Rate{60, 59, 1'700'000'060});
    CHECK(client.request().counted == 1);
    CHECK(client.state().limit_status == api::LimitStatus::denied);
    CHECK(client.state().error_code == "missing_api_key");
    CHECK(client.state().key.refused.refusal == api::KeyRefusal::missing);
    CHECK(client.state().decision.stage == DecisionStage::none);
    CHECK_FALSE(client.state().redis_time.started);
    CHECK(client.retry_after == 0);
    CHECK(worker.link.sent.empty());
    CHECK(client.ended());
}

TEST_CASE("a malformed API key is refused without Redis", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    const auto token = GENERATE(std::string(513, 'x'), std::string("two words"),
                                std::string("not-ascii-\xC3\xA4"),
                                // A wrong checksum.
                                "petstore_" + std::string(49, 'a'));
    CAPTURE(token);
    client.request().headers["Authorization"] = "Bearer " + token;
    client.start();
    CHECK(client.status == 401);
    CHECK(client.body
          == error_body("invalid_api_key", "The API key is not valid.", 401));
    CHECK(client.authenticate
          == "Bearer realm=\"petstore\", error=\"invalid_token\"");
    CHECK(client.state().error_code == "invalid_api_key");
    CHECK(client.state().key.refused.refusal == api::KeyRefusal::malformed);
    CHECK(client.request().counted == 1);
    CHECK(worker.link.sent.empty());
}

TEST_CASE("an unknown key is refused and remembered", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_no_record();
    CHECK(client.status == 401);
    CHECK(client.body
          == error_body("invalid_api_key", "The API key is not valid.", 401));
    CHECK(client.authenticate
          == "Bearer realm=\"petstore\", error=\"invalid_token\"");
    CHECK(client.rate() == Rate{60, 59, 1'700'000'060});
    CHECK(client.state().limit_status == api::LimitStatus::denied);
    CHECK(client.state().key.valid == nullptr);
    CHECK(client.request().counted == 1);
    CHECK(worker.idle());

    worker.clock.advance(799);
    FakeClient again(worker);
    again.start();
    CHECK(again.status == 401);
    CHECK(worker.link.sent.size() == 1);

    worker.clock.advance(1);
    FakeClient later(worker);
    later.start();
    CHECK(worker.open() == Names{"HGETALL"});
}

TEST_CASE("a disabled key is refused before the limiter is asked", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    worker.reply_record({{"disabled", "1"}});
    worker.link.end_iteration();
    CHECK(client.status == 401);
    CHECK(client.state().error_code == "invalid_api_key");
    CHECK(client.state().key.valid == nullptr);
    CHECK(worker.link.sent.size() == 1);
    CHECK(worker.cached_key() == nullptr);
}

TEST_CASE("requests without a key are limited by address where enforced",
          "[service]")
{
    FakeWorker worker;
    worker.settings.enforce_address_limit = true;
    FakeClient client(worker);
    client.request().headers.erase("Authorization");
    SECTION("below the limit")
    {
        client.start();
        CHECK(client.status == 401);
        CHECK(client.state().limit_status == api::LimitStatus::denied);
    }
    SECTION("over the limit")
    {
        client.request().address = {{60, 0, worker.now() + 42}, true};
        client.start();
        CHECK(client.status == 429);
        CHECK(
            client.body
            == error_body(
                "rate_limit_exceeded",
                "Rate limit exceeded: 60 requests per minute. Retry in 42 seconds.",
                429));
        CHECK(client.retry_after == 42);
        CHECK(client.rate() == Rate{60, 0, worker.now() + 42});
        CHECK(client.state().limit_status == api::LimitStatus::limited);
        CHECK(client.state().error_code == "rate_limit_exceeded");
        CHECK(client.authenticate.empty());
    }
    SECTION("over the limit, in a dry run")
    {
        worker.settings.limit_dry_run = true;
        client.request().address = {{60, 0, worker.now() + 42}, true};
        client.start();
        CHECK(client.status == 401);
        CHECK(client.state().limit_status == api::LimitStatus::limited_dry_run);
        CHECK(client.dry_runs == Names{"address"});
        CHECK(client.rate() == Rate{60, 0, worker.now() + 42});
    }
    SECTION("over the limit, which is not enforced")
    {
        worker.settings.enforce_address_limit = false;
        client.request().address = {{60, 0, worker.now() + 42}, true};
        client.start();
        CHECK(client.status == 401);
        CHECK(client.state().limit_status == api::LimitStatus::denied);
    }
    CHECK(worker.link.sent.empty());
}
