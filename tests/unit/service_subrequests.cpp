// A client's request is charged once, however many subrequests it makes.
#include "service_test.h"

namespace {

constexpr char kNothing[] = "/v1/nothing";

// Three subrequests of one request, waiting for one decision.
struct Family {
    Family()
    {
        worker.know_key();
        for (FakeClient* client : {&first, &second, &third}) {
            client->start();
        }
        worker.link.end_iteration();
        REQUIRE(worker.open() == Names{"limit"});
        REQUIRE(worker.link.commands[0].back() == asked({{7, 60, 1000, 1, 0}}));
    }

    FakeWorker worker;
    FakeClient first{worker, Method::get, kNothing};
    FakeClient second{worker, first, kNothing};
    FakeClient third{worker, first, kNothing};
};

}  // namespace

TEST_CASE("subrequests wait for one decision and share it", "[service]")
{
    Family f;
    f.worker.reply_limit({1, 3, 40});
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->status == 404);
        CHECK(client->ended());
        CHECK(client->in_event_when_responding);
    }
    CHECK(f.first.rate() == Rate{60, 57, f.worker.now() + 30});
    CHECK(f.first.state().decision.asker == nullptr);
    f.worker.link.end_iteration();
    // The records of key and account, and the decision.
    CHECK(f.worker.link.sent.size() == 3);
}

TEST_CASE("a subrequest after the decision uses it", "[service]")
{
    Family f;
    f.worker.reply_limit({1, 3, 40});
    FakeClient later(f.worker, f.first, kNothing);
    later.start();
    CHECK(later.status == 404);
    CHECK_FALSE(later.in_event_when_responding);
    CHECK(f.worker.idle());
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());
}

TEST_CASE("a decision that proves no key is shared once the key was read",
          "[service]")
{
    Family f;
    ++f.worker.link.generation;
    f.worker.reply_limit({1, 3, 40});
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->responses == 0);
    }
    CHECK(f.worker.open() == Names{"HGETALL"});
    int status = 404;
    SECTION("usable")
    {
        f.worker.reply_record();
    }
    SECTION("revoked")
    {
        f.worker.reply_record({{"disabled", "1"}});
        status = 401;
    }
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->status == status);
        CHECK(client->ended());
    }
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());  // nothing was charged twice
}

TEST_CASE("a denied request's subrequests are denied and counted once",
          "[service]")
{
    Family f;
    f.worker.reply_limit({0, 60, 70});
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->status == 429);
        CHECK(client->retry_after == 30);
        CHECK(client->ended());
    }
    CHECK(f.worker.cached_key()
              ->account->take_denials(f.worker.settings.ban, f.worker.clock.now)
              .strikes
          == 1);
}

TEST_CASE("a subrequest does not wait for the report of the denial",
          "[service]")
{
    FakeWorker worker;
    worker.settings.ban.threshold = 0;
    worker.know_key(
        {{"plan", "enterprise"}, {"per_minute", "1"}, {"per_day", "10"}});
    worker.cached_key()->account->add_unreported({1, 1});
    FakeClient first(worker, Method::get, kNothing);
    FakeClient second(worker, first, kNothing);
    first.start();
    second.send();
    worker.reply_limit({0, 1, 5});
    CHECK(first.responses == 0);
    CHECK(second.status == 429);
    CHECK(worker.open() == Names{"strike"});
    worker.reply_strike(2, true, {0, 1, 5, 300'000});
    CHECK(first.state().limit_status == api::LimitStatus::banned);
    CHECK(first.ended());
    CHECK(second.ended());
}

TEST_CASE("after a failed decision the next subrequest asks", "[service]")
{
    Family f;
    SECTION("not sent")
    {
        f.worker.link.lose(NoReply::not_sent);
    }
    SECTION("an error of Redis")
    {
        f.worker.reply_to("limit", "-LOADING x\r\n");
    }
    SECTION("an unusable reply")
    {
        f.worker.reply_to("limit", "+OK\r\n");
    }
    CHECK(f.first.status == 503);
    CHECK(f.second.responses == 0);
    CHECK(f.third.responses == 0);
    CHECK(f.first.state().decision.asker != nullptr);

    // One of them asks on behalf of both.
    f.worker.link.end_iteration();
    REQUIRE(f.worker.open() == Names{"limit"});
    CHECK(f.worker.link.commands[0].back() == asked({{7, 60, 1000, 1, 0}}));
    f.worker.reply_limit({1, 4, 41});
    CHECK(f.second.status == 404);
    CHECK(f.third.status == 404);
    CHECK(f.first.ended());
    CHECK(f.second.ended());
    CHECK(f.third.ended());
}

TEST_CASE("after a lost reply no subrequest asks again", "[service]")
{
    Family f;
    f.worker.link.lose(NoReply::in_doubt);
    // A later subrequest, such as an error page.
    FakeClient later(f.worker, f.first, kNothing);
    later.start();
    for (FakeClient* client : {&f.first, &f.second, &f.third, &later}) {
        CHECK(client->status == 503);
        CHECK(client->ended());
    }
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());

    // The client's next request asks again.
    FakeClient next(f.worker, Method::get, kNothing);
    next.start();
    f.worker.end_and_admit();
    CHECK(next.status == 404);
}

TEST_CASE("subrequests of a worker that cannot send all fail", "[service]")
{
    Family f;
    f.worker.link.full = true;
    f.worker.link.lose(NoReply::not_sent);
    CHECK(f.first.status == 503);
    f.worker.link.end_iteration();
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->status == 503);
        CHECK(client->ended());
    }
    CHECK(f.first.state().decision.asker == nullptr);
}

TEST_CASE("a stale record does not make subrequests charge twice", "[service]")
{
    Family f;
    f.worker.reply_limit({-1, 0, 0, 0, 8});
    // The first one reads the record; the second asks with the old one.
    CHECK(f.worker.open() == Names{"HGETALL"});
    f.worker.reply_record({{"epoch", "8"}});
    f.worker.link.end_iteration();
    REQUIRE(f.worker.open() == Names{"limit"});
    CHECK(f.first.responses + f.second.responses + f.third.responses == 0);
    // Asked by the second one, with the old record.
    CHECK(f.worker.link.commands[0].back() == asked({{7, 60, 1000, 1, 0}}));
    f.worker.reply_limit({-1, 0, 0, 0, 8});

    // The newer record is already cached.
    CHECK(f.worker.idle());
    f.worker.link.end_iteration();
    CHECK(f.worker.open() == Names{"limit"});
    f.worker.reply_limit({1, 3, 40, 0, 8});
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->status == 404);
        CHECK(client->ended());
    }
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());
    CHECK(f.first.rate() == Rate{60, 57, f.worker.now() + 30});
}

TEST_CASE("a request that leaves with its waiting subrequests is forgotten",
          "[service]")
{
    Family f;
    FakeClient bystander(f.worker, Method::get, kNothing);
    bystander.start();
    SECTION("in the order of the requests")
    {
        f.first.leave();
        f.second.leave();
        f.third.leave();
    }
    SECTION("the other way round")
    {
        f.third.leave();
        f.second.leave();
        f.first.leave();
    }
    // The limiter's reply is still due.
    CHECK(f.first.releases + f.second.releases + f.third.releases == 0);
    f.worker.reply_limit({1, 3, 40});
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->releases == 1);
        CHECK(client->responses == 0);
        CHECK(client->failures == 0);
        CHECK(client->events == 0);
    }
    f.worker.end_and_admit();
    CHECK(bystander.status == 404);
}

TEST_CASE("a request that leaves before a failed decision does not ask again",
          "[service]")
{
    Family f;
    f.first.leave();
    f.second.leave();
    f.third.leave();
    f.worker.link.lose(NoReply::in_doubt);
    CHECK(f.first.releases == 1);
    CHECK(f.second.releases == 1);
    CHECK(f.third.releases == 1);
    f.worker.link.end_iteration();
    CHECK(f.worker.idle());
}

TEST_CASE("a waiting subrequest that leaves alone is skipped", "[service]")
{
    Family f;
    f.second.leave();
    CHECK(f.second.releases == 0);
    f.worker.reply_limit({1, 3, 40});
    CHECK(f.second.releases == 1);
    CHECK(f.second.responses == 0);
    CHECK(f.first.status == 404);
    CHECK(f.third.status == 404);
}

TEST_CASE("subrequests that leave while they are answered are released once",
          "[service]")
{
    Family f;
    f.first.leaves_when_done = true;
    f.second.leaves_when_done = true;
    f.third.leaves_when_done = true;
    f.worker.reply_limit({1, 3, 40});
    for (FakeClient* client : {&f.first, &f.second, &f.third}) {
        CHECK(client->status == 404);
        CHECK(client->ended());
        CHECK(client->releases == 1);
    }
}

TEST_CASE("a subrequest's list reads the version that its decision lacks",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker, Method::get, kNothing);
    main.send_and_admit();
    FakeClient list(worker, main, "/v1/pets");
    list.start();
    CHECK(worker.open() == Names{"MGET"});
    worker.reply_to("MGET", array({bulk("1"), bulk("5")}));
    worker.reply_to("LRANGE", array({bulk("s7:Rex")}));
    CHECK(list.status == 200);
    CHECK(list.body
          == R"([{"id":1,"name":"Rex","categoryId":7,"status":"sold"}])");
}

// --- what is reported --------------------------------------------------------

TEST_CASE("a subrequest does not change its main request's report", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker);
    main.send_and_admit();
    FakeClient subrequest(worker, main, "/v1/pets/x");
    subrequest.start();
    CHECK(subrequest.status == 404);
    worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(main.status == 200);
    CHECK(main.state().operation == api::Operation::list_pets);
    CHECK_FALSE(main.state().deprecated);
    CHECK(main.state().limit_status == api::LimitStatus::passed);
    CHECK(main.state().error_code.empty());
}

TEST_CASE("a refused main request keeps its error code", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker, Method::get, kNothing);
    main.send_and_admit();
    FakeClient subrequest(worker, main, "/v1/pets/x");
    subrequest.start();
    CHECK(subrequest.status == 404);
    CHECK(main.state().error_code == "not_found");
    CHECK(main.state().operation == api::Operation::none);
}

TEST_CASE(
    "a subrequest is reported where the main request is not the service's",
    "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker);  // answered by another module
    FakeClient subrequest(worker, main, "/v1/pets/x");
    subrequest.send_and_admit();
    CHECK(subrequest.status == 404);
    CHECK(main.state().operation == api::Operation::get_pet);
    CHECK(main.state().deprecated);
    CHECK(main.state().limit_status == api::LimitStatus::passed);
    CHECK(main.state().error_code == "pet_not_found");
}

// A client of two stores, say with two petstore_prefix: the key is that of an
// account in each.
TEST_CASE("a subrequest of another store does not change what is reported",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeWorker other;
    FakeClient main(worker);
    const auto reported = [&] {
        const auto& key = main.state().key.valid;
        return key ? std::string(key->account->id()) : "none";
    };
    SECTION("admitted there, before and after the decision")
    {
        other.know_key({{"account", "b1"}});
        FakeClient early(other, main, kNothing);
        FakeClient late(other, main, kNothing);
        main.send();
        early.start_guard();
        CHECK(reported() == "a1");
        worker.reply_limit({1, 3, 40});
        other.reply_record({{"account", "b1"}});
        CHECK(early.admissions == 1);
        late.start_guard();
        CHECK(late.admissions == 1);
    }
    SECTION("refused there")
    {
        FakeClient late(other, main, kNothing);
        main.send();
        worker.reply_limit({1, 3, 40});
        late.start();
        other.reply_no_record();
        CHECK(late.status == 401);
        CHECK(main.state().key.refused.refusal == api::KeyRefusal::none);
    }
    CHECK(reported() == "a1");
    CHECK(main.rate() == Rate{60, 57, worker.now() + 30});
    CHECK(other.idle());
}

TEST_CASE("a refused main request keeps its rate when a subrequest is admitted",
          "[service]")
{
    FakeWorker worker;
    FakeWorker other;
    other.know_key({{"account", "b1"}});
    FakeClient main(worker);
    main.start();
    worker.reply_no_record();
    CHECK(main.status == 401);
    FakeClient subrequest(other, main, kNothing);
    subrequest.start_guard();
    other.end_and_admit();
    CHECK(subrequest.admissions == 1);
    CHECK(main.rate() == Rate{60, 59, 1'700'000'060});
    CHECK(main.state().key.valid == nullptr);
    CHECK(main.state().key.refused.refusal == api::KeyRefusal::unknown);
}

TEST_CASE("the rate is that of the decision, also where another store refuses",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeWorker other;
    FakeClient main(worker);
    main.send();
    worker.reply_limit({1, 3, 40});
    other.settings.enforce_address_limit = true;
    FakeClient redirected(other, main, "/v1/pets", FakeClient::Part::redirect);
    redirected.request().address = {{60, 0, worker.now() + 42}, true};
    redirected.start();
    other.reply_no_record();
    CHECK(redirected.status == 401);
    CHECK(redirected.request().counted == 0);
    CHECK(main.rate() == Rate{60, 57, worker.now() + 30});
    CHECK(main.state().limit_status == api::LimitStatus::denied);
    CHECK(main.state().key.refused.refusal == api::KeyRefusal::unknown);
}

TEST_CASE("an internal redirect starts a new report", "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker, Method::get, "/v1/pets/x");
    main.send_and_admit();
    CHECK(main.state().error_code == "pet_not_found");
    CHECK(main.state().deprecated);
    FakeClient redirected(worker, main, "/v1/pets", FakeClient::Part::redirect);
    redirected.start();
    CHECK(main.state().error_code.empty());
    CHECK_FALSE(main.state().deprecated);
    CHECK(main.state().operation == api::Operation::list_pets);
    CHECK(main.state().limit_status == api::LimitStatus::passed);
    CHECK(main.state().decision.stage == DecisionStage::made);
}

TEST_CASE("what was decided is reported, whatever answers after a redirect",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker, Method::get, "/reports/7");
    FakeClient answer(worker, main, "/v1/openapi.json",
                      FakeClient::Part::redirect);
    SECTION("admitted")
    {
        main.start_guard();
        worker.end_and_admit();
        answer.start();
        CHECK(main.state().limit_status == api::LimitStatus::passed);
        CHECK(main.state().error_code.empty());
        CHECK(main.state().wants_document);
    }
    SECTION("admitted, for a preflight")
    {
        main.start_guard();
        worker.end_and_admit();
        answer.request().verb = Method::options;
        answer.start();
        CHECK(main.state().limit_status == api::LimitStatus::passed);
    }
    SECTION("over the limit")
    {
        main.start_guard();
        worker.link.end_iteration();
        worker.reply_limit({0, 60, 70});
        answer.start();
        CHECK(main.state().limit_status == api::LimitStatus::limited);
        CHECK(main.state().error_code == "rate_limit_exceeded");
    }
    SECTION("without a key")
    {
        main.request().headers.clear();
        main.start_guard();
        answer.start();
        CHECK(main.state().limit_status == api::LimitStatus::denied);
        CHECK(main.state().error_code == "missing_api_key");
    }
    CHECK(answer.ended());
    CHECK(worker.idle());
}

TEST_CASE("a main request keeps its subrequest's decision, but not its error",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient main(worker, Method::options);
    FakeClient subrequest(worker, main, kNothing);
    subrequest.send_and_admit();
    CHECK(main.state().error_code == "not_found");
    main.start();
    CHECK(main.status == 204);
    CHECK(main.state().limit_status == api::LimitStatus::passed);
    CHECK(main.state().error_code.empty());
}

TEST_CASE("a request without a key counts once in its address's window",
          "[service]")
{
    FakeWorker worker;
    FakeClient main(worker);
    FakeClient subrequest(worker, main);
    FakeClient redirected(worker, main, "/v1/pets", FakeClient::Part::redirect);
    for (FakeClient* client : {&main, &subrequest, &redirected}) {
        client->request().headers.clear();
        client->start();
        CHECK(client->status == 401);
        CHECK(client->rate() == Rate{60, 59, 1'700'000'060});
    }
    CHECK(main.request().counted == 1);
    CHECK(subrequest.request().counted == 0);
    CHECK(redirected.request().counted == 0);
}

TEST_CASE("a request that waits for a guard's decision survives the guard",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient guard(worker, api::Method::get, "/reports");
    FakeClient redirected(worker, guard, "/v1/nothing",
                          FakeClient::Part::redirect);
    guard.start_guard();
    redirected.start();
    guard.leave();  // alone, as if nginx could not suspend the guard
    worker.end_and_admit();
    CHECK(guard.releases == 1);
    worker.end_and_admit();  // it asks for itself
    CHECK(redirected.status == 404);
}
