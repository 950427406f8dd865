// Accounts in a Cluster, where the limiter's script cannot read the marker that
// says where the limits are.
#include "service_test.h"

namespace {

// A link to a Cluster from the start.
struct Limits {
    Limits() { link.cluster = true; }
    FakeLink link;
};

struct Fixture : Limits {
    Fixture() { worker.know_key(); }

    void reply(const std::string& name, const std::string& text)
    {
        REQUIRE(link.commands.size() == 1);
        REQUIRE(FakeWorker::name_of(link.commands[0]) == name);
        link.reply(text);
        worker.link.end_iteration();
    }
    void reply_unplaced()
    {
        reply("limit",
              limit_reply({answer(-4, bulk(""))}, stamp(worker.clock.host)));
    }
    void decide(const FakeWorker::Account& account = {})
    {
        reply("limit",
              limit_reply({answer(account.admitted, worker.state(account))},
                          stamp(worker.clock.host)));
    }

    FakeWorker worker{Limits::link};
    FakeClient client{worker};
};

}  // namespace

TEST_CASE("cluster: a known account needs no marker", "[service]")
{
    Fixture f;
    f.client.send();
    f.decide();
    f.worker.reply_to("MGET", array({f.worker.count, f.worker.changes}));
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(f.client.body == FakeWorker::kThreePets);
    CHECK(f.link.sent.size() == 1);
}

TEST_CASE("cluster: an account without a state is new if the marker says so",
          "[service]")
{
    const auto marker = GENERATE(as<std::string>{}, kNil, bulk("here x"));
    Fixture f;
    f.client.send();
    f.reply_unplaced();
    REQUIRE(f.link.commands.size() == 1);
    CHECK(f.link.commands[0]
          == FakeLink::Words{"GET", "petstore:limits-place"});
    f.reply("GET", marker);
    FakeWorker::Account created;
    created.admitted = -1;
    created.epoch = 9;
    f.decide(created);
    f.worker.reply_to("MGET", array({f.worker.count, f.worker.changes}));
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    f.worker.reply_record();
    f.worker.link.end_iteration();
    FakeWorker::Account renewed;
    renewed.epoch = 9;
    f.decide(renewed);
    CHECK(f.client.body == FakeWorker::kThreePets);
    // The version was read once.
    CHECK(f.worker.idle());
}

TEST_CASE("cluster: accounts that were moved away are not charged", "[service]")
{
    Fixture f;
    f.client.send();
    f.reply_unplaced();
    f.reply("GET", bulk("elsewhere x"));
    CHECK(f.client.status == 503);
    CHECK(f.worker.log.events[store::Event::limits_elsewhere] == 1);
    CHECK(f.link.commands.empty());
}

TEST_CASE("cluster: without the marker the request fails", "[service]")
{
    Fixture f;
    f.client.send();
    f.reply_unplaced();
    SECTION("lost")
    {
        f.link.lose(NoReply::in_doubt);
    }
    SECTION("refused")
    {
        f.reply("GET", "-CLUSTERDOWN x\r\n");
    }
    CHECK(f.client.status == 503);
    CHECK(f.client.ended());
}

TEST_CASE("cluster: a marker of another type is damaged", "[service]")
{
    Fixture f;
    f.client.send();
    f.reply_unplaced();
    f.reply("GET", "-WRONGTYPE x\r\n");
    CHECK(f.client.status == 500);
    CHECK(f.worker.log.damaged_keys == Names{"petstore:limits-place"});
    CHECK(f.client.ended());
}

TEST_CASE("cluster: requests of an iteration share the marker", "[service]")
{
    Fixture f;
    FakeClient guarded(f.worker, Method::get, "/shop");
    guarded.start_guard();
    f.client.start();
    f.worker.link.end_iteration();
    f.reply_unplaced();
    CHECK(f.link.commands.size() == 1);
    f.reply("GET", kNil);
    FakeWorker::Account two;
    two.admitted = 2;
    f.decide(two);
    CHECK(guarded.admissions == 1);
}

TEST_CASE("cluster: a nonsensical reply is not requested forever", "[service]")
{
    Fixture f;
    f.client.start_guard();
    f.worker.link.end_iteration();
    f.reply_unplaced();
    f.reply("GET", kNil);
    f.reply_unplaced();
    CHECK(f.link.commands.empty());
    CHECK(f.client.status == 503);
    CHECK(f.worker.log.events[store::Event::unexpected_limiter_reply] == 1);
}
