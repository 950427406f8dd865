// The API's responses to paths and methods.
#include "service_test.h"

TEST_CASE("OPTIONS needs no key and is not charged", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker, Method::options);
    client.request().headers.clear();
    SECTION("of the collection")
    {
        client.start();
        CHECK(client.status == 204);
        CHECK(client.allow == "GET, HEAD, POST, OPTIONS");
        CHECK(client.body.empty());
    }
    SECTION("of a pet")
    {
        client.request().uri = "/v1/pets/7";
        client.start();
        CHECK(client.status == 204);
        CHECK(client.allow == "GET, HEAD, OPTIONS");
    }
    SECTION("of an unknown path")
    {
        client.request().uri = "/v1/pets/";
        client.start();
        CHECK(client.status == 404);
        CHECK(client.state().error_code == "not_found");
        CHECK(client.allow.empty());
    }
    worker.link.end_iteration();
    CHECK(worker.link.sent.empty());
    CHECK(client.state().decision.stage != DecisionStage::made);
    CHECK_FALSE(client.state().redis_time.started);
    CHECK(client.state().operation == api::Operation::none);
    CHECK(client.request().counted == 0);
    CHECK(client.ended());
}

TEST_CASE("an unknown path is 404 with a key, and charged", "[service]")
{
    const auto path =
        GENERATE(as<std::string>{}, "/v1", "/v1/pets/", "/v1/pets/1/2",
                 "/v1/store/orders", "/pets", "/v2/pets", "/v1petstore");
    CAPTURE(path);
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::get, path);
    client.send();
    CHECK(worker.open() == Names{"limit"});
    worker.admit();
    CHECK(client.status == 404);
    CHECK(client.body
          == R"({"code":"not_found","message":"The path does not exist.",)"
             R"("status":404})");
    CHECK(client.state().error_code == "not_found");
    CHECK(client.state().limit_status == api::LimitStatus::passed);
    CHECK(client.state().operation == api::Operation::none);
    CHECK(client.allow.empty());
    CHECK(worker.idle());
}

TEST_CASE("an unknown path is 401 without a key", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker, Method::get, "/v1/nothing");
    client.request().headers.clear();
    client.start();
    CHECK(client.status == 401);
}

TEST_CASE("a method that a path does not have is 405, and charged", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::other, "/v1/pets");
    std::string allow = "GET, HEAD, POST, OPTIONS";
    SECTION("of the collection") {}
    SECTION("TRACE")
    {
        client.request().verb = Method::trace;
    }
    SECTION("of a pet")
    {
        client.request().verb = Method::post;
        client.request().uri = "/v1/pets/7";
        allow = "GET, HEAD, OPTIONS";
    }
    client.send();
    CHECK(worker.open() == Names{"limit"});
    worker.admit();
    CHECK(client.status == 405);
    CHECK(client.allow == allow);
    CHECK(client.body
          == R"({"code":"method_not_allowed","message":"This method is not )"
             R"(allowed here; see the Allow header.","status":405})");
    CHECK(client.state().error_code == "method_not_allowed");
    CHECK(client.state().limit_status == api::LimitStatus::passed);
    CHECK(worker.idle());
}

TEST_CASE("a key reads and writes as its scopes allow", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.sent_body = R"({"name":"Rex","categoryId":7})";
    std::string scopes;
    SECTION("list without read")
    {
        scopes = "write";
    }
    SECTION("get without read")
    {
        scopes = "write";
        client.request().uri = "/v1/pets/7";
    }
    SECTION("create without write")
    {
        scopes = "read";
        client.request().verb = Method::post;
    }
    worker.know_key({{"scopes", scopes}});
    client.send();
    // Charged, but nothing is read ahead.
    CHECK(worker.open() == Names{"limit"});
    worker.admit();
    CHECK(client.status == 403);
    CHECK(client.body
          == R"({"code":"insufficient_scope","message":"The API key lacks the )"
             R"(scope for this operation.","status":403})");
    CHECK(client.state().error_code == "insufficient_scope");
    CHECK(client.state().limit_status == api::LimitStatus::passed);
    CHECK(client.body_limit == 0);
    CHECK(worker.idle());
}

TEST_CASE("a scope that suffices lets its operation through", "[service]")
{
    FakeWorker worker;
    SECTION("read")
    {
        worker.know_key({{"scopes", "read"}});
        FakeClient client(worker);
        client.send();
        CHECK(worker.open() == Names{"limit", "LRANGE"});
        worker.reply();
        worker.reply();
        CHECK(client.status == 200);
    }
    SECTION("write")
    {
        worker.know_key({{"scopes", "write"}});
        FakeClient client(worker, Method::post);
        client.sent_body = R"({"name":"Rex","categoryId":7})";
        client.send();
        worker.reply();
        worker.link.end_iteration();
        worker.reply();
        CHECK(client.status == 201);
    }
}

TEST_CASE("paths and methods come before scopes", "[service]")
{
    FakeWorker worker;
    worker.know_key({{"scopes", "read"}});
    FakeClient path(worker, Method::post, "/v1/nothing");
    FakeClient method(worker, Method::other, "/v1/pets");
    path.start();
    method.send();
    worker.reply_limit({2, 4, 41});
    CHECK(path.status == 404);
    CHECK(method.status == 405);
}
