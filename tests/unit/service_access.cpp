// What a location asks of keys: where they are, their plan and their scope.
#include "service_test.h"

namespace {

constexpr char kNothing[] = "/v1/nothing";

}  // namespace

TEST_CASE("access: a key in a header of its own", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    worker.settings.key_header = "X-API-Key";
    worker.settings.missing_key = api::missing_key_message("X-API-Key");
    FakeClient client(worker, Method::get, kNothing);
    SECTION("counts instead of Authorization")
    {
        client.request().headers["Authorization"] = "Bearer token";
        client.request().headers["X-API-Key"] =
            std::string(" \t") + FakeWorker::kKey + ' ';
        client.send_and_admit();
        CHECK(client.status == 404);
    }
    SECTION("also if it is wrong")
    {
        client.request().headers["X-API-Key"] = "wrong";
        client.send();
        worker.reply_no_record();
        CHECK(client.status == 401);
        CHECK(client.state().error_code == "invalid_api_key");
    }
    SECTION("is not of the form of Authorization")
    {
        client.request().headers["X-API-Key"] =
            std::string("Bearer ") + FakeWorker::kKey;
        client.send();
        CHECK(client.status == 401);
        CHECK(client.state().key.refused.refusal == api::KeyRefusal::malformed);
    }
    SECTION("need not be sent")
    {
        client.send_and_admit();
        CHECK(client.status == 404);
    }
    SECTION("must not be empty")
    {
        client.request().headers["X-API-Key"] = "";
        client.send();
        CHECK(client.status == 401);
        CHECK(client.state().error_code == "missing_api_key");
        CHECK(client.authenticate == "Bearer realm=\"petstore\"");
        CHECK(client.body.find("or \\\"X-API-Key: <API_KEY>\\\".")
              != std::string::npos);
    }
    SECTION("must not be repeated")
    {
        client.request().headers["X-API-Key"] = FakeWorker::kKey;
        client.request().repeated = "X-API-Key";
        client.send();
        CHECK(client.status == 400);
        CHECK(client.state().error_code == "invalid_parameter");
        CHECK(client.authenticate.empty());
        CHECK(client.rate() == Rate{60, 59, 1'700'000'060});
        CHECK(api::refusal_name(client.state().key.refused.refusal)
              == "malformed");
    }
    CHECK(client.ended());
    CHECK(worker.idle());
}

TEST_CASE("access: plans", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    worker.settings.plans = {"pro", "business"};
    FakeClient client(worker);
    SECTION("another plan is refused, and charged")
    {
        client.send_and_admit();
        CHECK(client.status == 403);
        CHECK(client.state().error_code == "plan_not_allowed");
        CHECK(client.state().limit_status == api::LimitStatus::passed);
        CHECK(client.rate() == Rate{60, 57, worker.now() + 30});
    }
    SECTION("before its path")
    {
        client.request().uri = kNothing;
        client.send_and_admit();
        CHECK(client.state().error_code == "plan_not_allowed");
    }
    SECTION("one of them is not")
    {
        worker.settings.plans.emplace_back("free");
        client.request().uri = kNothing;
        client.send_and_admit();
        CHECK(client.status == 404);
    }
    CHECK(client.ended());
    CHECK(worker.idle());  // nothing was read ahead
}

TEST_CASE("access: the scope and the plan of a guarded location", "[service]")
{
    FakeWorker worker;
    worker.know_key({{"scopes", "read,orders:write"}});
    FakeClient client(worker, Method::post, "/orders");
    const auto ends_with = [&](const char* scope) {
        worker.settings.scope = scope;
        client.start_guard();
        worker.end_and_admit();
        return client.admissions == 1 ? "" : client.state().error_code;
    };
    SECTION("that the key has")
    {
        CHECK(ends_with("orders:write") == "");
    }
    SECTION("that it has not")
    {
        CHECK(ends_with("orders") == "insufficient_scope");
        CHECK(client.status == 403);
        CHECK(client.body.find("lacks the scope orders.") != std::string::npos);
    }
    SECTION("read and write whatever the method is")
    {
        CHECK(ends_with("read") == "");
    }
    SECTION("read and write that it has not")
    {
        CHECK(ends_with("write") == "insufficient_scope");
    }
    SECTION("by the method")
    {
        CHECK(ends_with("") == "insufficient_scope");
    }
    SECTION("the plan is checked first")
    {
        worker.settings.plans = {"pro"};
        CHECK(ends_with("orders") == "plan_not_allowed");
    }
}

TEST_CASE("access: names of scopes are compared as a whole", "[api]")
{
    const api::KeyRights read{false, api::kScopeRead, {}};
    CHECK(api::has_scope(read, "", "read"));
    CHECK_FALSE(api::has_scope(read, "", "write"));
    CHECK_FALSE(api::has_scope(read, "", "a"));
    for (const char* has : {"a", "a,b", "b,a", "b,a,c"}) {
        CAPTURE(has);
        CHECK(api::has_scope(read, has, "a"));
    }
    for (const char* has : {"", "aa", "b,aa,c", "a:b"}) {
        CAPTURE(has);
        CHECK_FALSE(api::has_scope(read, has, "a"));
    }
}
