// Counters and bans on one Redis, the catalogue and the key records on another.
#include "service_test.h"

namespace {

struct Fixture {
    Fixture() { worker.know_key(); }

    static Names open(const FakeLink& link)
    {
        Names names;
        for (const auto& command : link.commands) {
            names.push_back(FakeWorker::name_of(command));
        }
        return names;
    }
    // Pending commands on the limit Redis.
    Names asked() const { return open(limits); }
    // Pending commands on the main Redis.
    Names read() const { return open(worker.link); }

    void decide(const FakeWorker::Account& account = {})
    {
        REQUIRE(asked() == Names{"limit"});
        limits.reply(
            limit_reply({answer(account.admitted, worker.state(account))},
                        stamp(worker.clock.host)));
    }
    void version()
    {
        worker.reply_to("MGET", array({worker.count, worker.changes}));
    }
    void page() { worker.reply_to("LRANGE", FakeWorker::three_pets()); }

    // Makes the worker cache the page.
    void remember_page()
    {
        FakeClient other(worker);
        other.send();
        decide();
        version();
        page();
        REQUIRE(other.status == 200);
        REQUIRE(worker.idle());
    }

    FakeLink limits;
    FakeWorker worker{limits};
    FakeClient client{worker};
};

void check_page(const FakeClient& client)
{
    CHECK(client.status == 200);
    CHECK(client.body == FakeWorker::kThreePets);
    CHECK(client.ended());
}

}  // namespace

TEST_CASE("two Redis: both are asked in one iteration", "[service]")
{
    Fixture f;
    f.client.start();
    CHECK(f.worker.idle());
    f.worker.link.end_iteration();
    REQUIRE(f.asked() == Names{"limit"});
    // The command has one account, and no version.
    CHECK(f.limits.commands[0].size() == 5);
    CHECK(f.limits.commands[0][2] == "1");
    // Data read ahead follow the version, so they are at least as new.
    REQUIRE(f.read() == Names{"MGET", "LRANGE"});
    CHECK(f.worker.link.commands[0]
          == FakeLink::Words{"MGET", "petstore:{petstore:pets}:count",
                             "petstore:{petstore:pets}:changes"});
}

TEST_CASE("two Redis: a page needs both replies, in any order", "[service]")
{
    // The limiter's reply comes before this many replies of the main Redis.
    const int before = GENERATE(2, 1, 0);
    const bool limiter_first = GENERATE(true, false);
    CAPTURE(before, limiter_first);
    Fixture f;
    f.client.send();
    if (before == 2) {
        f.decide();
    }
    f.version();
    if (before == 1) {
        f.decide();
    }
    CHECK(f.client.responses == 0);
    f.page();
    if (before == 0) {
        CHECK(f.client.responses == 0);
        f.decide();
    }
    check_page(f.client);

    // The page was confirmed, and is served from memory from now on.
    FakeClient next(f.worker);
    next.send();
    CHECK(f.read() == Names{"MGET"});
    limiter_first ? f.decide() : f.version();
    CHECK(next.responses == 0);
    limiter_first ? f.version() : f.decide();
    CHECK(next.cached != nullptr);
    check_page(next);
    CHECK(f.worker.idle());
}

TEST_CASE("two Redis: a page in memory is not served at another version",
          "[service]")
{
    Fixture f;
    f.remember_page();
    f.worker.count = bulk("4");
    f.client.send();
    f.decide();
    f.version();
    CHECK(f.client.responses == 0);
    CHECK_FALSE(f.worker.idle());
}

TEST_CASE("two Redis: requests of an iteration share one version", "[service]")
{
    Fixture f;
    f.remember_page();
    FakeClient pet(f.worker, Method::get, "/v1/pets/2");
    FakeClient guarded(f.worker, Method::get, "/shop");
    guarded.start_guard();
    f.client.start();
    pet.start();
    f.worker.link.end_iteration();
    CHECK(f.asked() == Names{"limit"});
    CHECK(f.read() == Names{"MGET", "LINDEX"});

    // Later requests need another version.
    FakeClient later(f.worker);
    later.send();
    CHECK(f.read() == Names{"MGET", "LINDEX", "MGET"});
    CHECK(f.asked() == Names{"limit", "limit"});
}

TEST_CASE("two Redis: only reads of pets need the version", "[service]")
{
    Fixture f;
    int status = 0;
    SECTION("a guard")
    {
        f.client.start_guard();
    }
    SECTION("an unknown path")
    {
        f.client.request().uri = "/v1/nowhere";
        status = 404;
    }
    SECTION("another method")
    {
        f.client.request().verb = Method::other;
        status = 405;
    }
    SECTION("an invalid query")
    {
        f.client.request().arguments = "limit=0";
        status = 400;
    }
    SECTION("an id that no pet can have")
    {
        f.client.request().uri = "/v1/pets/x";
        status = 404;
    }
    if (status != 0) {
        f.client.start();
    }
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());
    f.decide();
    CHECK(f.client.ended());
    CHECK(f.client.status == status);
    CHECK(f.worker.idle());
}

TEST_CASE("two Redis: a create needs no version", "[service]")
{
    Fixture f;
    f.client.request().verb = Method::post;
    f.client.sent_body = R"({"name":"Rex","categoryId":7})";
    f.client.send();
    CHECK(f.worker.idle());
    f.decide();
    f.worker.link.end_iteration();
    REQUIRE(f.read() == Names{"create_pets"});
    f.worker.link.reply(array({integer(1), integer(4)}));
    CHECK(f.client.status == 201);
}

TEST_CASE("two Redis: a denied request does not wait for the main one",
          "[service]")
{
    Fixture f;
    f.client.send();
    f.decide({0, 60, 70});
    CHECK(f.client.status == 429);
    CHECK(f.client.ended());
    // The next request is denied from memory and sends nothing.
    FakeClient next(f.worker);
    next.send();
    CHECK(next.status == 429);
    CHECK(f.asked().empty());
    CHECK(f.read() == Names{"MGET", "LRANGE"});  // the first one's
    f.version();
    f.page();
    CHECK(f.client.responses == 1);
}

TEST_CASE("two Redis: without the limit Redis nothing is read", "[service]")
{
    Fixture f;
    f.limits.full = true;
    f.client.send();
    CHECK(f.client.status == 503);
    CHECK(f.client.state().error_code == "service_unavailable");
    CHECK(f.client.ended());
    CHECK(f.worker.idle());
}

TEST_CASE("two Redis: a lost decision is a failure, whatever was read",
          "[service]")
{
    Fixture f;
    f.client.send();
    SECTION("before the version")
    {
        f.limits.lose(NoReply::in_doubt);
        CHECK(f.client.status == 503);
        f.version();
        f.page();
    }
    SECTION("after the page")
    {
        f.version();
        f.page();
        f.limits.lose(NoReply::in_doubt);
    }
    CHECK(f.client.status == 503);
    CHECK(f.client.ended());
}

TEST_CASE("two Redis: a read whose version cannot be read is charged and fails",
          "[service]")
{
    Fixture f;
    SECTION("not sent")
    {
        f.worker.link.full = true;
        f.client.send();
        CHECK(f.client.responses == 0);
        f.decide();
    }
    SECTION("lost before the decision")
    {
        f.client.send();
        f.worker.link.lose(NoReply::in_doubt);
        f.worker.link.lose(NoReply::in_doubt);
        CHECK(f.client.responses == 0);
        f.decide();
    }
    SECTION("lost after the decision")
    {
        f.client.send();
        f.decide();
        CHECK(f.client.responses == 0);
        f.worker.link.lose(NoReply::in_doubt);
    }
    SECTION("refused")
    {
        f.client.send();
        f.decide();
        f.worker.reply_to("MGET", "-LOADING x\r\n");
    }
    SECTION("not a version")
    {
        f.client.send();
        f.decide();
        f.worker.reply_to("MGET", array({}));
    }
    CHECK(f.client.status == 503);
    CHECK(f.client.state().error_code == "service_unavailable");
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.rate() == Rate{60, 57, f.worker.now() + 30});
    CHECK(f.client.ended());
}

TEST_CASE("two Redis: guards work without the main one", "[service]")
{
    Fixture f;
    f.worker.link.full = true;
    ++f.worker.link.generation;
    f.client.start_guard();
    f.worker.link.end_iteration();
    f.decide();
    CHECK(f.client.admissions == 1);
}

TEST_CASE("two Redis: a damaged version is an internal error", "[service]")
{
    Fixture f;
    f.worker.changes = bulk("x");
    f.client.send();
    f.version();
    f.decide();
    CHECK(f.client.status == 500);
    CHECK(f.worker.log.damaged_keys
          == Names{"petstore:{petstore:pets}:changes"});
}

TEST_CASE("two Redis: an id beyond the last one is 404 without its read",
          "[service]")
{
    Fixture f;
    FakeClient pet(f.worker, Method::get, "/v1/pets/4");
    pet.send();
    f.decide();
    f.version();
    CHECK(pet.status == 404);
}

TEST_CASE("two Redis: an empty catalogue is examined", "[service]")
{
    Fixture f;
    f.worker.count = f.worker.changes = kNil;
    f.client.send();
    f.version();
    f.worker.reply_to("LRANGE", array({}));
    f.decide();
    REQUIRE(f.read() == Names{"LINDEX", "GET"});
    f.worker.reply_to("LINDEX", kNil);
    f.worker.reply_to("GET", kNil);
    CHECK(f.client.body == "[]");
}

TEST_CASE("two Redis: a stale record is read again, the version is not",
          "[service]")
{
    Fixture f;
    f.client.send();
    f.version();
    f.page();
    FakeWorker::Account stale;
    stale.admitted = -1;
    stale.epoch = 9;
    f.decide(stale);
    REQUIRE(f.read() == Names{"HGETALL"});
    f.worker.reply_record();
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());
    FakeWorker::Account renewed;
    renewed.epoch = 9;
    f.decide(renewed);
    check_page(f.client);
}

TEST_CASE("two Redis: a version from before a lost connection is not used",
          "[service]")
{
    Fixture f;
    f.remember_page();
    f.client.send();
    f.version();
    ++f.worker.link.generation;
    f.decide();
    // The cached page is dropped, and the version is read again.
    REQUIRE(f.read() == Names{"MGET"});
    f.version();
    REQUIRE(f.read() == Names{"MGET"});
    f.worker.reply();  // the ids
    f.page();
    check_page(f.client);
}

TEST_CASE("two Redis: a late decision does not undo a newer version",
          "[service]")
{
    Fixture f;
    f.remember_page();
    // The first request's record is stale, so its decision comes late.
    f.client.send();
    f.version();
    FakeWorker::Account stale;
    stale.admitted = -1;
    stale.epoch = 9;
    f.decide(stale);
    f.worker.reply_record();

    FakeClient newer(f.worker);
    f.worker.count = bulk("4");
    newer.request().arguments = "limit=2";  // not the last page
    newer.send();
    f.version();
    FakeWorker::Account two;
    two.admitted = 2;
    two.epoch = 9;
    f.decide(two);
    // The cached page lacks pet 4.
    CHECK(f.client.responses == 0);
    f.page();
    CHECK(newer.status == 200);
    f.worker.reply_to("LRANGE", array({bulk("s7:Rex"), bulk("a8:Tom"),
                                       bulk("p9:Ada"), bulk("p9:Eve")}));
    CHECK(f.client.status == 200);
    CHECK(f.client.body.find("Eve") != std::string::npos);
    CHECK(f.worker.idle());

    // The caches were not dropped.
    FakeClient again(f.worker);
    again.request().arguments = "limit=2";
    again.send();
    CHECK(f.read() == Names{"MGET"});
}

TEST_CASE("two Redis: the limit Redis cannot take back an epoch", "[service]")
{
    Fixture f;
    // The limit Redis failed over, and may have lost the latest epochs.
    ++f.limits.generation;
    f.client.start_guard();
    f.worker.link.end_iteration();
    REQUIRE(f.asked() == Names{"limit"});
    CHECK(f.limits.commands[0].back()
          == asked({{0, 60, 1000, 1, 0}}));  // no account has epoch 0
    FakeWorker::Account stale;
    stale.admitted = -1;
    f.decide(stale);
    // The record is read again, although its epoch was lost.
    f.worker.reply_record({{"disabled", "1"}});
    CHECK(f.client.status == 401);
    CHECK(f.client.ended());
}

TEST_CASE("two Redis: a record read again is trusted again", "[service]")
{
    Fixture f;
    ++f.limits.generation;
    f.client.start_guard();
    f.worker.link.end_iteration();
    FakeWorker::Account stale;
    stale.admitted = -1;
    f.decide(stale);
    f.worker.reply_record();
    f.worker.link.end_iteration();
    f.decide();
    CHECK(f.client.admissions == 1);
    FakeClient next(f.worker);
    next.start_guard();
    f.worker.link.end_iteration();
    f.decide();
    CHECK(next.admissions == 1);
    CHECK(f.worker.idle());
}

TEST_CASE("two Redis: an account without a state is never taken for a new one",
          "[service]")
{
    FakeLink limits;
    FakeWorker worker(limits);
    FakeClient client(worker);
    client.start_guard();
    worker.reply_record();
    worker.link.end_iteration();
    REQUIRE(limits.commands.size() == 1);
    // Not 1 at the end: the record may be newer than the loss.
    CHECK(limits.commands[0].back()
          == asked({{FakeWorker::kEpoch, 60, 1000, 1, 0}}));
}

TEST_CASE("two Redis: limits that were moved are not decided on", "[service]")
{
    Fixture f;
    f.client.send();
    f.limits.reply(
        limit_reply({answer(-3, bulk(""))}, stamp(f.worker.clock.host)));
    CHECK(f.client.status == 503);
    CHECK(f.client.ended());
    CHECK(f.worker.log.events[store::Event::limits_elsewhere] == 1);
    CHECK(f.worker.log.events[store::Event::unexpected_limiter_reply] == 0);
}

TEST_CASE("two Redis: a subrequest's list reads the version that it lacks",
          "[service]")
{
    Fixture f;
    FakeClient part(f.worker, f.client, "/v1/pets");
    f.client.start_guard();
    part.start();
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());  // no request is for pets
    f.decide();
    CHECK(f.client.admissions == 1);
    REQUIRE(f.read() == Names{"MGET"});
    f.version();
    f.page();
    CHECK(part.status == 200);
}

TEST_CASE("two Redis: a dry run's denial from memory reads the version",
          "[service]")
{
    Fixture f;
    f.worker.settings.limit_dry_run = true;
    f.client.send();
    f.version();
    f.page();
    f.decide({0, 60, 70});
    check_page(f.client);
    FakeClient next(f.worker);
    next.send();
    CHECK(f.asked().empty());
    REQUIRE(f.read() == Names{"MGET"});
    f.version();
    check_page(next);
}

TEST_CASE("two Redis: a request that leaves is released after both replies",
          "[service]")
{
    Fixture f;
    f.client.send();
    SECTION("before both")
    {
        f.client.leave();
        f.version();
        CHECK(f.client.releases == 0);
        f.decide();
    }
    SECTION("after the decision")
    {
        f.decide();
        f.client.leave();
        CHECK(f.client.releases == 0);
        f.version();
    }
    SECTION("after the version")
    {
        f.version();
        f.client.leave();
        CHECK(f.client.releases == 0);
        f.decide();
    }
    CHECK(f.client.releases == 1);
    CHECK(f.client.responses == 0);
    // Data it has read ahead serve the next request.
    f.page();
    FakeClient next(f.worker);
    next.send();
    CHECK(f.read() == Names{"MGET"});
}

TEST_CASE("two Redis: reports of denials go to the limit Redis", "[service]")
{
    Fixture f;
    f.client.send();
    f.decide({0, 60, 70});
    f.worker.storage.denials.flush();
    CHECK(f.asked() == Names{"strike"});
}

TEST_CASE("two Redis: a decision of a restarted server proves no key",
          "[service]")
{
    Fixture f;
    f.client.start_guard();
    f.worker.link.end_iteration();
    // The command, with the account's epoch, waits for the next connection.
    ++f.limits.generation;
    f.decide();
    CHECK(f.client.admissions == 0);
    REQUIRE(f.read() == Names{"HGETALL"});
    SECTION("revoked")
    {
        f.worker.reply_record({{"disabled", "1"}});
        CHECK(f.client.admissions == 0);
        CHECK(f.client.status == 401);
    }
    SECTION("unchanged")
    {
        f.worker.reply_record();
        CHECK(f.client.admissions == 1);
    }
    SECTION("unknown")
    {
        f.worker.link.lose(NoReply::in_doubt);
        CHECK(f.client.admissions == 0);
        CHECK(f.client.status == 503);
    }
    f.worker.link.end_iteration();
    CHECK(f.asked().empty());  // it was charged
    CHECK(f.worker.idle());
}
