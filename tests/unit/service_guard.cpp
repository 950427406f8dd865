// Admission in front of another handler.
#include "service_test.h"

namespace {

struct Fixture {
    explicit Fixture(const FakeWorker::Fields& fields = {})
    {
        worker.know_key(fields);
    }

    void start()
    {
        client.start_guard();
        worker.link.end_iteration();
    }

    FakeWorker worker;
    FakeClient client{worker, Method::get, "/reports/7"};
};

}  // namespace

TEST_CASE("a guard admits a request to the location's handler", "[service]")
{
    Fixture f;
    f.start();
    CHECK(f.worker.open() == Names{"limit"});
    CHECK(f.worker.link.sent.back()[2] == "1");  // no version of the catalogue
    CHECK(f.client.admissions == 0);
    f.worker.admit();
    CHECK(f.client.admissions == 1);
    CHECK(f.client.responses == 0);
    CHECK(f.client.failures == 0);
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.state().error_code.empty());
    CHECK(f.client.state().operation == api::Operation::none);
    CHECK(f.client.rate() == Rate{60, 57, f.worker.now() + 30});
    CHECK(f.client.request().counted == 0);
    f.client.leave();
    CHECK(f.client.releases == 1);
}

TEST_CASE("a guard reads the key of its first request", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker, Method::get, "/reports/7");
    client.start_guard();
    CHECK(worker.open() == Names{"HGETALL"});
    worker.reply_record();
    worker.end_and_admit();
    CHECK(client.admissions == 1);
}

TEST_CASE("a guard refuses requests as the API does", "[service]")
{
    Fixture f;
    SECTION("without a key")
    {
        f.client.request().headers.clear();
        f.start();
        CHECK(f.client.status == 401);
        CHECK(f.client.authenticate == "Bearer realm=\"petstore\"");
        CHECK(f.client.state().error_code == "missing_api_key");
        CHECK(f.client.state().limit_status == api::LimitStatus::denied);
        CHECK(f.client.request().counted == 1);
        CHECK(f.worker.idle());
    }
    SECTION("over the limit")
    {
        f.start();
        f.worker.reply_limit({0, 60, 70});
        CHECK(f.client.status == 429);
        CHECK(f.client.retry_after == 30);
        CHECK(f.client.state().limit_status == api::LimitStatus::limited);
        CHECK(f.client.rate() == Rate{60, 0, f.worker.now() + 30});
        CHECK(f.worker.reports.alarm);
    }
    SECTION("banned")
    {
        f.start();
        f.worker.reply_limit({0, 60, 70, 300'000});
        CHECK(f.client.status == 429);
        CHECK(f.client.state().limit_status == api::LimitStatus::banned);
        CHECK(f.client.state().error_code == "api_key_banned");
    }
    SECTION("while Redis is away")
    {
        f.start();
        f.worker.link.lose(NoReply::in_doubt);
        CHECK(f.client.status == 503);
        CHECK(f.client.state().error_code == "service_unavailable");
        CHECK(f.client.state().limit_status == api::LimitStatus::unavailable);
        CHECK(f.client.retry_after == 1);
    }
    SECTION("with a damaged account")
    {
        f.start();
        f.worker.reply_limit({-2, 0, 0});
        CHECK(f.client.status == 500);
        CHECK(f.client.state().error_code == "internal_error");
    }
    CHECK(f.client.admissions == 0);
    CHECK(f.client.ended());
}

TEST_CASE("a guard's unknown key is refused", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker, Method::get, "/reports/7");
    client.start_guard();
    worker.reply_no_record();
    CHECK(client.status == 401);
    CHECK(client.authenticate
          == "Bearer realm=\"petstore\", error=\"invalid_token\"");
    CHECK(client.admissions == 0);
}

TEST_CASE("a guard in a dry run admits and logs the denial", "[service]")
{
    Fixture f;
    f.worker.settings.limit_dry_run = true;
    f.start();
    f.worker.reply_limit({0, 60, 70});
    CHECK(f.client.admissions == 1);
    CHECK(f.client.state().limit_status == api::LimitStatus::limited_dry_run);
    CHECK(f.client.dry_runs == Names{"a1"});
    CHECK(f.client.ended());
}

TEST_CASE("safe methods need the scope read, others write", "[service]")
{
    const auto method = GENERATE(Method::get, Method::head, Method::options,
                                 Method::trace, Method::post, Method::put,
                                 Method::patch, Method::del, Method::other);
    const bool reads = method == Method::get || method == Method::head
                       || method == Method::options || method == Method::trace;
    const bool may_read = GENERATE(false, true);
    CAPTURE(static_cast<int>(method), may_read);
    Fixture f(FakeWorker::Fields{{"scopes", may_read ? "read" : "write"}});
    f.client.request().verb = method;
    f.start();
    f.worker.admit();
    if (reads == may_read) {
        CHECK(f.client.admissions == 1);
        CHECK(f.client.state().error_code.empty());
    } else {
        CHECK(f.client.status == 403);
        CHECK(f.client.body
              == R"({"code":"insufficient_scope","message":"The API key lacks )"
                 R"(the scope for this method.","status":403})");
        CHECK(f.client.state().error_code == "insufficient_scope");
    }
    // Charged in both cases.
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.ended());
}

TEST_CASE("a guard charges OPTIONS, unlike the API", "[service]")
{
    Fixture f;
    f.client.request().verb = Method::options;
    f.start();
    CHECK(f.worker.open() == Names{"limit"});
}

TEST_CASE("guards and the API charge a client's request once", "[service]")
{
    Fixture f;
    f.start();
    f.worker.admit();

    // An internal redirect into another guarded location, then into the API.
    FakeClient redirected(f.worker, f.client, "/other",
                          FakeClient::Part::redirect);
    redirected.start_guard();
    CHECK(redirected.admissions == 1);
    FakeClient api(f.worker, f.client, "/v1/nothing",
                   FakeClient::Part::redirect);
    api.start();
    CHECK(api.status == 404);
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());
    CHECK(api.rate() == Rate{60, 57, f.worker.now() + 30});
}

TEST_CASE("a guard waits for the decision on another subrequest", "[service]")
{
    Fixture f;
    FakeClient other(f.worker, f.client, "/other");
    f.client.start_guard();
    other.start_guard();
    f.worker.link.end_iteration();
    CHECK(f.worker.link.commands[0].back() == asked({{7, 60, 1000, 1, 0}}));
    f.worker.admit();
    CHECK(f.client.admissions == 1);
    CHECK(other.admissions == 1);
}

// An internal redirect turns POST into GET.
TEST_CASE("each guard needs the scope of the client's method", "[service]")
{
    Fixture f(FakeWorker::Fields{{"scopes", "write"}});
    f.client.request().verb = Method::post;
    f.start();
    f.worker.admit();
    CHECK(f.client.admissions == 1);

    FakeClient redirected(f.worker, f.client, "/other",
                          FakeClient::Part::redirect);
    redirected.request().client_verb = Method::post;
    redirected.start_guard();
    CHECK(redirected.admissions == 1);
    FakeClient subrequest(f.worker, f.client, "/other");
    subrequest.request().client_verb = Method::post;
    subrequest.start_guard();
    CHECK(subrequest.admissions == 1);
    FakeClient other(f.worker, f.client, "/other", FakeClient::Part::redirect);
    other.start_guard();
    CHECK(other.status == 403);

    // The API's operations still need their scope.
    FakeClient api(f.worker, f.client, "/v1/pets", FakeClient::Part::redirect);
    api.start();
    CHECK(api.status == 403);
}

// Like auth_request in a server whose locations are all guarded.
TEST_CASE("a subrequest that passes a guard lends its scope to no other method",
          "[service]")
{
    FakeWorker worker;
    worker.know_key({{"scopes", "read"}});
    FakeClient main(worker, Method::post, "/reports/7");
    FakeClient subrequest(worker, main, "/auth");
    subrequest.start_guard();
    worker.end_and_admit();
    CHECK(subrequest.admissions == 1);
    main.start_guard();
    CHECK(main.admissions == 0);
    CHECK(main.status == 403);
}

TEST_CASE("a guarded request that leaves is not admitted", "[service]")
{
    Fixture f;
    f.start();
    f.client.leave();
    CHECK(f.client.releases == 0);
    f.worker.admit();
    CHECK(f.client.admissions == 0);
    CHECK(f.client.releases == 1);
}

TEST_CASE("a request that its guard admits may leave at once", "[service]")
{
    Fixture f;
    f.client.leaves_when_done = true;
    f.start();
    f.worker.admit();
    CHECK(f.client.admissions == 1);
    CHECK(f.client.releases == 1);
}
