// A client's request to locations with different storages, as with another
// petstore_prefix or petstore_redis_timeout: the second location shares the
// decision, but has a record of its own for the key.
#include "service_test.h"

namespace {

constexpr char kNothing[] = "/v1/nothing";

struct TwoStorages {
    TwoStorages()
    {
        first.know_key();
        second.know_key({{"account", "b1"}});
    }

    // The first location's guard admits the request.
    void admit()
    {
        main.start_guard();
        first.end_and_admit();
        REQUIRE(main.admissions == 1);
    }

    // The second location's guard is asked after an internal redirect.
    void redirect() { redirected.start_guard(); }

    void check_charged_once()
    {
        for (FakeWorker* worker : {&first, &second}) {
            worker->link.end_iteration();
            CHECK(worker->idle());
        }
    }

    FakeWorker first;
    FakeWorker second;
    FakeClient main{first, Method::get, "/reports/7"};
    FakeClient redirected{second, main, "/other/7", FakeClient::Part::redirect};
};

void check_refused(const FakeClient& client, int status)
{
    CHECK(client.status == status);
    CHECK(client.admissions == 0);
    CHECK(client.ended());
}

}  // namespace

TEST_CASE("a decision of another storage does not prove the key", "[service]")
{
    TwoStorages f;
    f.admit();
    f.redirect();
    CHECK(f.redirected.responses + f.redirected.admissions == 0);
    REQUIRE(f.second.open() == Names{"HGETALL"});
    SECTION("unchanged")
    {
        f.second.reply_record({{"account", "b1"}});
        CHECK(f.redirected.admissions == 1);
    }
    SECTION("disabled")
    {
        f.second.reply_record({{"account", "b1"}, {"disabled", "1"}});
        check_refused(f.redirected, 401);
    }
    SECTION("without its account")
    {
        f.second.reply_record({{"account", "b1"}}, {{"deleted", "1"}});
        check_refused(f.redirected, 401);
    }
    SECTION("deleted")
    {
        f.second.reply_no_record();
        check_refused(f.redirected, 401);
    }
    SECTION("with other scopes")
    {
        f.second.reply_record({{"account", "b1"}, {"scopes", "write"}});
        check_refused(f.redirected, 403);
    }
    SECTION("with another plan")
    {
        f.second.settings.plans = {"free"};
        f.second.reply_record({{"account", "b1"}, {"plan", "pro"}});
        check_refused(f.redirected, 403);
    }
    SECTION("unreadable")
    {
        f.second.link.lose(NoReply::in_doubt);
        check_refused(f.redirected, 503);
    }
    f.check_charged_once();
}

TEST_CASE("a key of another storage is read once per 0.9 seconds", "[service]")
{
    TwoStorages f;
    f.admit();
    f.redirect();
    f.second.reply_record({{"account", "b1"}});
    f.second.clock.advance(899);
    FakeClient again(f.second, f.main, "/other/8", FakeClient::Part::redirect);
    again.start_guard();
    CHECK(again.admissions == 1);
    f.second.clock.advance(1);
    FakeClient later(f.second, f.main, "/other/9", FakeClient::Part::redirect);
    later.start_guard();
    CHECK(f.second.open() == Names{"HGETALL"});
}

TEST_CASE("in its own storage a decision proves the key, however old",
          "[service]")
{
    TwoStorages f;
    f.admit();
    f.first.clock.advance(10'000);
    FakeClient redirected(f.first, f.main, "/other/7",
                          FakeClient::Part::redirect);
    redirected.start_guard();
    CHECK(redirected.admissions == 1);
    f.check_charged_once();
}

TEST_CASE(
    "a subrequest that waits for another storage's decision reads its key",
    "[service]")
{
    TwoStorages f;
    FakeClient waiting(f.second, f.main, kNothing);
    f.main.start_guard();
    waiting.start_guard();
    f.second.clock.advance(500);
    CHECK(f.second.idle());
    f.first.end_and_admit();
    CHECK(waiting.admissions == 0);
    REQUIRE(f.second.open() == Names{"HGETALL"});
    SECTION("unchanged")
    {
        f.second.reply_record({{"account", "b1"}});
        CHECK(waiting.admissions == 1);
    }
    SECTION("disabled")
    {
        f.second.reply_record({{"account", "b1"}, {"disabled", "1"}});
        check_refused(waiting, 401);
    }
    f.check_charged_once();
}

TEST_CASE("a read in another storage proves nothing about an unproven key",
          "[service]")
{
    TwoStorages f;
    f.main.start_guard();
    f.first.link.end_iteration();
    ++f.first.link.generation;
    f.first.admit();
    REQUIRE(f.first.open() == Names{"HGETALL"});
    FakeClient other(f.second, f.main, kNothing);
    other.start_guard();
    f.second.reply_record({{"account", "b1"}});
    CHECK(other.admissions == 1);

    FakeClient late(f.first, f.main, kNothing);
    late.start_guard();
    CHECK(late.admissions == 0);
    f.first.reply_record({{"disabled", "1"}});
    check_refused(f.main, 401);
    check_refused(late, 401);
    f.check_charged_once();
}

TEST_CASE("a create in another storage is confirmed by a read of its key",
          "[service]")
{
    TwoStorages f;
    f.admit();
    f.redirect();
    f.second.reply_record({{"account", "b1"}});
    f.first.clock.advance(800);
    f.second.clock.advance(800);
    FakeClient next(f.first, Method::post, "/reports/8");
    next.start_guard();
    f.first.end_and_admit();
    FakeClient create(f.second, next, "/v1/pets", FakeClient::Part::redirect);
    create.request().verb = Method::post;
    create.sent_body = R"({"name":"Rex","categoryId":7})";
    create.body_is_here = false;
    create.start();
    REQUIRE(f.second.idle());
    const auto receive_after = [&](int milliseconds) {
        f.second.clock.advance(milliseconds);
        create.receive(FakeClient::Result::complete);
        f.second.link.end_iteration();
    };
    SECTION("that is recent")
    {
        receive_after(99);
        CHECK(f.second.open() == Names{"create_pets"});
    }
    SECTION("that is older than the decision")
    {
        receive_after(100);
        REQUIRE(f.second.open() == Names{"HGETALL"});
        f.second.reply_record({{"account", "b1"}, {"disabled", "1"}});
        check_refused(create, 401);
        CHECK(f.second.idle());
    }
}

TEST_CASE("a denial behind the dry run of another storage is counted there",
          "[service]")
{
    TwoStorages f;
    f.first.settings.limit_dry_run = true;
    f.main.start_guard();
    f.first.link.end_iteration();
    f.first.reply_limit({0, 60, 70});
    REQUIRE(f.main.admissions == 1);
    REQUIRE_FALSE(f.first.cached_key()->account->has_denials());
    SECTION("once")
    {
        f.redirect();
        f.second.reply_record({{"account", "b1"}});
        check_refused(f.redirected, 429);
        CHECK(f.first.reports.alarm);

        f.first.settings.limit_dry_run = false;
        FakeClient back(f.first, f.main, "/reports/8",
                        FakeClient::Part::redirect);
        back.start_guard();
        check_refused(back, 429);
        f.check_charged_once();
        f.first.storage.denials.flush();
        REQUIRE(f.first.open() == Names{"strike"});
        CHECK(f.first.link.commands[0][3] == "petstore:{a1}:state");
        f.first.reply_strike(1, false, {0, 60, 70});
    }
    SECTION("and may lead to a ban there")
    {
        f.second.settings.ban.threshold = 0;
        for (int i = 0; i < 60; ++i) {
            f.first.cached_key()->account->count_strike(
                f.second.settings.ban, f.first.cached_key()->limits,
                f.first.clock.now);
        }
        f.redirect();
        f.second.reply_record({{"account", "b1"}});
        CHECK(f.redirected.responses == 0);
        REQUIRE(f.first.open() == Names{"strike"});
        f.first.reply_strike(61, true, {0, 60, 70, 300'000});
        check_refused(f.redirected, 429);
        CHECK(f.redirected.state().error_code == "api_key_banned");
        CHECK(f.redirected.bans == std::vector<std::string>{"a1"});
    }
    CHECK_FALSE(f.second.cached_key()->account->has_denials());
    CHECK_FALSE(f.second.reports.alarm);
    CHECK(f.second.idle());
}
