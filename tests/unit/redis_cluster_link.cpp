#include "catch.h"

#include <map>
#include <string>
#include <vector>

#include "fake_alarm.h"
#include "fake_link.h"
#include "redis/cluster_link.h"

using namespace petstore;
using redis::ClusterLink;
using redis::Command;
using redis::NoReply;
using redis::ServerAddress;
using redis::SlotMap;
using Words = FakeLink::Words;

namespace {

constexpr std::uint64_t kTimeout = 500;
const std::uint64_t kStart = FakeAlarm().time;

// By CLUSTER KEYSLOT: "foo" 12182, "bar" 5061, "a" 15495.
constexpr int kFoo = 12182;
constexpr int kBar = 5061;

std::string range(int first, int last, const std::string& host)
{
    return array({integer(first), integer(last),
                  array({bulk(host), integer(7001), bulk("id")})});
}

struct Outcome final : redis::ReplyHandler {
    void on_reply(const redis::Reply& reply) noexcept override
    {
        ++calls;
        text = reply.is(redis::Type::integer) ? std::to_string(reply.integer())
                                              : std::string(reply.text());
    }
    void on_no_reply(NoReply cause) noexcept override
    {
        ++calls;
        text = cause == NoReply::not_sent ? "not sent" : "in doubt";
    }

    int calls = 0;
    std::string text;
};

struct FakeCluster final : ClusterLink::Owner {
    using Persistence = redis::RedirectPolicy::Persistence;

    explicit FakeCluster(Persistence policy = Persistence::brief)
        : persistence(policy)
    {}

    redis::Link* link_to(const ServerAddress& primary) noexcept override
    {
        ids[primary.host] = primary.id.text();
        return primary.host == "unusable" ? nullptr : &servers[primary.host];
    }
    void keep(const std::vector<ServerAddress>& primaries) noexcept override
    {
        kept.clear();
        for (const auto& primary : primaries) {
            kept.push_back(primary.host);
        }
    }
    void find_map() noexcept override { ++searches; }
    void queue_full() noexcept override { ++full; }
    void command_failed(const redis::Reply& error) noexcept override
    {
        given_up.emplace_back(error.error_code());
    }
    bool may_recover() const noexcept override { return recovers; }

    // Assigns the slots below kFoo to the first server, the others to the
    // second.
    void find()
    {
        give({range(0, kFoo - 1, "one"), range(kFoo, 16383, "two")});
    }

    void give(const std::vector<std::string>& ranges)
    {
        Replies replies;
        link.on_map(SlotMap::parse(replies(array(ranges)), "seed").value());
    }

    void get(const std::string& key, Outcome& outcome)
    {
        link.send(Command("GET").key(key), outcome);
    }

    void wait(std::uint64_t time) { alarm.wait(time); }

    FakeAlarm alarm;
    int searches = 0;
    int full = 0;
    Words given_up;
    bool recovers = true;
    std::vector<std::string> kept;
    std::map<std::string, FakeLink> servers;
    std::map<std::string, std::string> ids;
    const Persistence persistence;
    ClusterLink link{*this, alarm, kTimeout, persistence};
};

const Words kGetFoo = {"GET", "foo"};
const Words kGetBar = {"GET", "bar"};

}  // namespace

TEST_CASE("a cluster's commands wait for the first map", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    CHECK(cluster.searches == 1);
    Outcome foo;
    Outcome bar;
    Outcome later;
    cluster.get("foo", foo);
    cluster.get("bar", bar);
    CHECK(cluster.searches == 1);
    CHECK(foo.calls + bar.calls == 0);

    SECTION("and go to the primaries of their slots")
    {
        cluster.find();
        CHECK(cluster.kept == std::vector<std::string>{"one", "two"});
        CHECK(cluster.servers["one"].sent == std::vector<Words>{kGetBar});
        CHECK(cluster.servers["two"].sent == std::vector<Words>{kGetFoo});
        cluster.servers["two"].reply(bulk("2"));
        cluster.servers["one"].reply(bulk("1"));
        CHECK(foo.text == "2");
        CHECK(bar.text == "1");
    }
    SECTION("and fail if there is none")
    {
        cluster.link.on_no_map();
        CHECK(foo.text == "not sent");
        CHECK(bar.text == "not sent");
        // No new search before the interval is over.
        Outcome soon;
        cluster.get("foo", soon);
        CHECK(soon.text == "not sent");
        CHECK(cluster.searches == 1);
        cluster.wait(ClusterLink::kSearchInterval);
        // After a failed search, commands do not wait for the next one.
        cluster.get("foo", soon);
        CHECK(soon.calls == 2);
        CHECK(cluster.searches == 2);
        cluster.find();
        cluster.get("foo", later);
        CHECK(cluster.servers["two"].sent == std::vector<Words>{kGetFoo});
        cluster.servers["two"].reply(bulk("2"));
        CHECK(later.text == "2");
    }
    SECTION("and fail in time")
    {
        cluster.wait(kTimeout - 10);
        CHECK(foo.calls == 0);
        cluster.wait(10);
        CHECK(foo.text == "not sent");
        CHECK(bar.text == "not sent");
        cluster.find();
        CHECK(foo.calls == 1);
    }
    SECTION("and fail in time if their servers then hang")
    {
        cluster.wait(kTimeout - 10);
        cluster.find();
        CHECK(foo.calls + bar.calls == 0);
        cluster.wait(10);
        CHECK(foo.text == "in doubt");
        CHECK(bar.text == "in doubt");
        cluster.servers["two"].reply(bulk("2"));
        cluster.servers["one"].reply(bulk("1"));
        CHECK(foo.calls + bar.calls == 2);
    }
    SECTION("and fail when the link closes")
    {
        cluster.link.close();
        CHECK(foo.text == "not sent");
        cluster.get("foo", later);
        CHECK(later.text == "not sent");
    }
    cluster.wait(2 * kTimeout);
    CHECK_FALSE(cluster.alarm.alarm);
}

TEST_CASE("each known primary has a hash tag", "[redis]")
{
    FakeCluster f;
    CHECK(f.link.tags_of_primaries().empty());
    f.find();
    const auto tags = f.link.tags_of_primaries();
    REQUIRE(tags.size() == 2);
    std::map<bool, int> tags_of;  // of the second server, and of the first
    for (const auto& tag : tags) {
        ++tags_of[redis::hash_slot("any:{" + tag + "}") >= kFoo];
    }
    CHECK(tags_of == std::map<bool, int>{{false, 1}, {true, 1}});
}

TEST_CASE("a command follows its moved slot", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    const auto generation = cluster.link.connection_generation("foo");
    const auto other = cluster.link.connection_generation("bar");
    const auto all = cluster.link.connection_generation({});
    cluster.alarm.time += ClusterLink::kSearchInterval;
    cluster.servers["two"].reply("-MOVED 12182 three:7001\r\n");
    CHECK(foo.calls == 0);
    CHECK(cluster.servers["three"].sent == std::vector<Words>{kGetFoo});
    CHECK(cluster.searches == 2);
    const auto moved = cluster.link.connection_generation("foo");
    CHECK(static_cast<std::uint32_t>(moved)
          != static_cast<std::uint32_t>(generation));
    CHECK(cluster.link.connection_generation("bar") == other);
    CHECK(cluster.link.connection_generation({}) != all);
    CHECK(cluster.link.reorderings("foo") != 0);
    cluster.servers["three"].reply(bulk("3"));
    CHECK(foo.text == "3");

    // Later commands are sent there directly.
    Outcome again;
    cluster.get("foo", again);
    CHECK(cluster.servers["three"].sent.size() == 2);
    cluster.servers["three"].lose(NoReply::in_doubt);
    CHECK(again.text == "in doubt");
    CHECK(foo.calls == 1);
}

TEST_CASE("an ASK redirect applies to one command only", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    const auto generation = cluster.link.connection_generation("foo");
    const auto reorderings = cluster.link.reorderings("foo");
    cluster.servers["two"].reply("-ASK 12182 three:7001\r\n");
    CHECK(cluster.servers["three"].sent
          == std::vector<Words>{{"ASKING"}, kGetFoo});
    const auto redirected = cluster.link.reorderings("foo");
    CHECK(redirected != reorderings);
    cluster.servers["three"].reply("+OK\r\n");
    cluster.servers["three"].reply(bulk("3"));
    CHECK(foo.text == "3");
    // Commands sent meanwhile may have been executed before it.
    CHECK(cluster.link.reorderings("foo") != redirected);
    CHECK(cluster.link.reorderings("bar") == 0);
    CHECK(cluster.link.connection_generation("foo") == generation);
    CHECK(cluster.searches == 1);
    Outcome again;
    cluster.get("foo", again);
    CHECK(cluster.servers["two"].commands.size() == 1);
}

TEST_CASE("a command across slots follows a moved slot but not a moving one",
          "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Command command("EVAL");
    command.key("foo").set_across_slots();
    Outcome moved;
    cluster.link.send(command, moved);
    cluster.servers["two"].reply("-MOVED 12182 three:7001\r\n");
    CHECK(cluster.servers["three"].commands.size() == 1);
    cluster.servers["three"].reply("-ASK 12182 four:7001\r\n");
    CHECK(moved.calls == 1);
    CHECK(moved.text == "ASK 12182 four:7001");
    CHECK(cluster.given_up == Words{"ASK"});
    CHECK(cluster.servers["four"].commands.empty());
}

TEST_CASE("a server without a name for itself redirects within its host",
          "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    cluster.servers["two"].reply("-ASK 12182 three:7001\r\n");
    cluster.servers["three"].reply("+OK\r\n");
    cluster.servers["three"].reply("-MOVED 12182 :7001\r\n");
    CHECK(cluster.servers["three"].commands.size() == 1);
}

TEST_CASE("redirects that do not end fail the command", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    int replies = 0;
    while (foo.calls == 0) {
        const bool two = cluster.servers["two"].commands.empty();
        cluster.servers[two ? "three" : "two"].reply(
            two ? "-MOVED 12182 two:7001\r\n" : "-MOVED 12182 three:7001\r\n");
        REQUIRE(++replies < 100);
    }
    CHECK(replies == redis::RedirectPolicy::kMaxRedirects + 1);
    CHECK(foo.text.substr(0, 5) == "MOVED");
    CHECK(cluster.given_up == Words{"MOVED"});
    cluster.wait(kTimeout);
    CHECK_FALSE(cluster.alarm.alarm);
}

TEST_CASE("malformed redirects are errors like any other", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    for (const char* error : {"MOVED", "ASK x", "LOADING", "ERR"}) {
        Outcome foo;
        cluster.get("foo", foo);
        cluster.servers["two"].reply("-" + std::string(error) + "\r\n");
        CHECK(foo.text == error);
    }
    CHECK(cluster.given_up == Words{"MOVED", "ASK"});
    Outcome foo;
    cluster.get("foo", foo);
    cluster.servers["two"].reply("-MOVED 12182 unusable:1\r\n");
    CHECK(foo.text == "not sent");
}

TEST_CASE("TRYAGAIN is tried again while there is time", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    auto& server = cluster.servers["two"];
    const auto generation = cluster.link.connection_generation("foo");
    server.reply(GENERATE(
        as<std::string>{}, "-TRYAGAIN x\r\n",
        "-ERR Script attempted to access a non local key in a cluster node\r\n"));
    CHECK(cluster.link.reorderings("foo") != 0);
    CHECK(cluster.link.connection_generation("foo") == generation);
    CHECK(server.sent.size() == 1);
    cluster.wait(ClusterLink::kRetryInterval);
    CHECK(server.sent.size() == 2);

    SECTION("until it works")
    {
        server.reply(bulk("2"));
        CHECK(foo.text == "2");
        CHECK(cluster.given_up.empty());
    }
    SECTION("until the time is over")
    {
        while (foo.calls == 0) {
            server.reply("-TRYAGAIN x\r\n");
            cluster.wait(ClusterLink::kRetryInterval);
            REQUIRE(server.sent.size() < 100);
        }
        // A later attempt would leave the outcome in doubt.
        CHECK(cluster.alarm.time < kStart + kTimeout);
        CHECK(cluster.alarm.time + redis::RedirectPolicy::kMinTimeForRetry
              >= kStart + kTimeout);
        CHECK(foo.text == "not sent");
        CHECK(server.commands.empty());
        CHECK(cluster.given_up == Words{"TRYAGAIN"});
    }
    SECTION("until the link closes")
    {
        server.reply("-TRYAGAIN x\r\n");
        cluster.link.close();
        CHECK(foo.text == "not sent");
    }
    SECTION("and a server that then hangs ends it in doubt")
    {
        cluster.wait(kTimeout);
        CHECK(foo.text == "in doubt");
        server.reply(bulk("late"));
        CHECK(foo.calls == 1);
    }
    cluster.wait(kTimeout);
    CHECK_FALSE(cluster.alarm.alarm);
    CHECK(foo.calls == 1);
}

TEST_CASE("damage on the target of a moving slot may be a key not yet moved",
          "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    auto& two = cluster.servers["two"];
    auto& three = cluster.servers["three"];
    two.reply("-ASK 12182 three:7001\r\n");
    three.reply("+OK\r\n");
    three.reply("-DAMAGED x\r\n");
    CHECK(foo.calls == 0);
    cluster.wait(ClusterLink::kRetryInterval);
    REQUIRE(two.commands.size() == 1);
    SECTION("and elsewhere it is damage")
    {
        two.reply("-DAMAGED x\r\n");
        CHECK(foo.text == "DAMAGED x");
    }
    SECTION("and nothing was executed when the time is over")
    {
        cluster.alarm.time += kTimeout;
        two.reply("-ERR Script attempted to access a non local key\r\n");
        CHECK(foo.text == "not sent");
    }
    cluster.wait(kTimeout);
    CHECK_FALSE(cluster.alarm.alarm);
}

TEST_CASE("a slot may take longer to move than a few attempts", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    auto& two = cluster.servers["two"];
    auto& three = cluster.servers["three"];
    for (int i = 0; i < 3 * redis::RedirectPolicy::kMaxRedirects; ++i) {
        two.reply("-ASK 12182 three:7001\r\n");
        three.reply("+OK\r\n");
        three.reply("-TRYAGAIN x\r\n");
        cluster.wait(ClusterLink::kRetryInterval);
        REQUIRE(two.commands.size() == 1);
    }
    // The primary's own host, not the one that the last redirect named.
    two.reply("-ASK 12182 :7001\r\n");
    two.reply("+OK\r\n");
    two.reply(bulk("2"));
    CHECK(foo.text == "2");
}

TEST_CASE("a command without a key is for any server that is there", "[redis]")
{
    using Persistence = FakeCluster::Persistence;
    const auto persistence =
        GENERATE(Persistence::brief, Persistence::until_deadline);
    FakeCluster cluster(persistence);
    cluster.link.warm_up();
    cluster.find();
    Outcome time;
    cluster.link.send(Command("TIME"), time);
    cluster.servers["one"].lose(NoReply::not_sent);
    cluster.wait(persistence == Persistence::brief
                     ? ClusterLink::kRetryInterval
                     : ClusterLink::kPersistentRetryInterval);
    cluster.servers["two"].reply(bulk("now"));
    CHECK(time.text == "now");
}

TEST_CASE("a command without a key fails if no server is there", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    cluster.servers["one"].full = true;
    cluster.servers["two"].full = true;
    Outcome time;
    cluster.link.send(Command("TIME"), time);
    CHECK(time.calls == 0);
    cluster.wait(kTimeout);
    CHECK(time.text == "not sent");
    // One that may have been executed is not repeated.
    cluster.servers["one"].full = false;
    Outcome lost;
    cluster.link.send(Command("TIME"), lost);
    cluster.servers["one"].lose(NoReply::in_doubt);
    CHECK(lost.text == "in doubt");
}

TEST_CASE("a persistent link retries commands that nobody executed", "[redis]")
{
    FakeCluster cluster(FakeCluster::Persistence::until_deadline);
    cluster.link.warm_up();
    cluster.find();
    Outcome foo;
    cluster.get("foo", foo);
    auto& two = cluster.servers["two"];

    SECTION("whose primary is unreachable")
    {
        two.full = true;
        two.lose(NoReply::not_sent);
        CHECK(foo.calls == 0);
        cluster.wait(ClusterLink::kSearchInterval);
        CHECK(cluster.searches == 2);
        cluster.give({range(0, 16383, "one")});
        cluster.wait(ClusterLink::kPersistentRetryInterval);
        cluster.servers["one"].reply(bulk("1"));
        CHECK(foo.text == "1");
    }
    SECTION("whose slot nobody serves, until its deadline")
    {
        two.full = true;
        two.reply("-CLUSTERDOWN x\r\n");
        while (foo.calls == 0) {
            cluster.link.on_no_map();
            cluster.wait(ClusterLink::kRetryInterval);
            REQUIRE(cluster.alarm.time <= kStart + kTimeout);
        }
        CHECK(foo.text == "not sent");
        CHECK(cluster.alarm.time + redis::RedirectPolicy::kMinTimeForRetry
              >= kStart + kTimeout);
    }
    SECTION("but not what cannot be sent soon either")
    {
        cluster.recovers = false;
        two.lose(NoReply::not_sent);
        CHECK(foo.text == "not sent");
    }
    SECTION("and waits for the reply to a redirected command")
    {
        two.reply("-MOVED 12182 one:7001\r\n");
        cluster.wait(2 * kTimeout);
        CHECK(foo.calls == 0);
        cluster.servers["one"].reply(bulk("1"));
        CHECK(foo.text == "1");
    }
    SECTION("and servers contradict each other about, after a pause")
    {
        auto& three = cluster.servers["three"];
        for (int i = 0; i < redis::RedirectPolicy::kMaxRedirects; ++i) {
            if (two.commands.empty()) {
                three.reply("-MOVED 12182 two:7001\r\n");
            } else {
                two.reply("-MOVED 12182 three:7001\r\n");
            }
        }
        three.reply("-MOVED 12182 two:7001\r\n");
        CHECK(foo.calls == 0);
        CHECK(two.commands.empty());
        cluster.wait(ClusterLink::kPersistentRetryInterval);
        three.reply(bulk("3"));
        CHECK(foo.text == "3");
    }
    SECTION("but not one that a server may have executed")
    {
        two.lose(NoReply::in_doubt);
        CHECK(foo.text == "in doubt");
    }
    SECTION("until it closes")
    {
        two.lose(NoReply::not_sent);
        cluster.link.close();
        CHECK(foo.text == "not sent");
    }
    cluster.wait(kTimeout);
    CHECK_FALSE(cluster.alarm.alarm);
    CHECK(foo.calls == 1);
}

TEST_CASE("a lost command makes the link search for another map", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.find();
    cluster.wait(ClusterLink::kSearchInterval);
    const auto generation = cluster.link.connection_generation("foo");
    for (int i = 0; i < 3; ++i) {
        Outcome foo;
        cluster.get("foo", foo);
        cluster.servers["two"].lose(NoReply::not_sent);
        CHECK(foo.text == "not sent");
        CHECK(cluster.searches == 2);
    }
    Outcome bar;
    cluster.get("bar", bar);
    cluster.give({range(0, 16383, "one")});
    CHECK(cluster.kept == std::vector<std::string>{"one"});
    CHECK(cluster.link.connection_generation("foo") != generation);
    Outcome foo;
    cluster.get("foo", foo);
    CHECK(cluster.servers["one"].sent.size() == 2);
    cluster.servers["one"].reply(bulk("1"));
    cluster.servers["one"].reply(bulk("1"));
    CHECK(foo.text == "1");
    CHECK(bar.text == "1");

    // Without a new map, the last one stays valid.
    cluster.wait(ClusterLink::kSearchInterval);
    cluster.servers["one"].full = true;
    Outcome full;
    cluster.get("foo", full);
    CHECK(full.text == "not sent");
    CHECK(cluster.searches == 3);
    cluster.link.on_no_map();
    cluster.servers["one"].full = false;
    cluster.get("foo", foo);
    CHECK(cluster.servers["one"].commands.size() == 1);
}

TEST_CASE("a slot that nobody serves fails its commands only", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    cluster.give({range(0, kFoo - 1, "one")});
    Outcome foo;
    Outcome bar;
    cluster.get("foo", foo);
    cluster.get("bar", bar);
    CHECK(foo.text == "not sent");
    CHECK(cluster.servers["one"].sent == std::vector<Words>{kGetBar});
    CHECK(cluster.link.group_of("foo") == 0);
    CHECK(cluster.link.group_of("bar") == 1);
    cluster.alarm.time += ClusterLink::kSearchInterval;
    cluster.servers["one"].reply("-CLUSTERDOWN x\r\n");
    CHECK(cluster.searches == 2);
    CHECK(bar.calls == 0);
    SECTION("and is served according to another map")
    {
        cluster.give({range(0, 16383, "two")});
        REQUIRE(cluster.servers["two"].commands.size() == 1);
        cluster.servers["two"].reply(bulk("2"));
        CHECK(bar.text == "2");
    }
    SECTION("and fails if that one is no better")
    {
        cluster.give({range(0, kFoo - 1, "one")});
        cluster.alarm.time += ClusterLink::kSearchInterval;
        cluster.servers["one"].reply("-CLUSTERDOWN x\r\n");
        CHECK(bar.text == "CLUSTERDOWN x");
    }
    SECTION("and fails if there is none")
    {
        cluster.link.on_no_map();
        CHECK(bar.text == "not sent");
    }
    SECTION("and fails if it is too soon for another one")
    {
        cluster.give({range(0, kFoo - 1, "one")});
        Outcome soon;
        cluster.get("bar", soon);
        REQUIRE(cluster.servers["one"].commands.size() == 2);
        cluster.servers["one"].reply("-CLUSTERDOWN x\r\n");
        cluster.servers["one"].reply("-CLUSTERDOWN x\r\n");
        CHECK(bar.text == "CLUSTERDOWN x");
        CHECK(soon.text == "CLUSTERDOWN x");
    }
    cluster.wait(kTimeout);
    CHECK_FALSE(cluster.alarm.alarm);
}

TEST_CASE("keys of one primary are one group", "[redis]")
{
    FakeCluster cluster;
    CHECK(cluster.link.group_of("foo") == 0);
    cluster.find();
    CHECK(cluster.link.group_of("foo") == 2);
    CHECK(cluster.link.group_of("a") == 2);
    CHECK(cluster.link.group_of("bar") == 1);
    static_assert(kBar < kFoo, "the first server's");
}

TEST_CASE("a cluster link bounds its commands", "[redis]")
{
    FakeCluster cluster;
    cluster.link.warm_up();
    std::vector<Outcome> outcomes(ClusterLink::kMaxCalls);
    for (auto& outcome : outcomes) {
        cluster.get("foo", outcome);
    }
    CHECK(cluster.full == 0);
    Outcome more;
    cluster.get("foo", more);
    CHECK(more.text == "not sent");
    CHECK(cluster.full == 1);
    cluster.link.on_no_map();
    for (const auto& outcome : outcomes) {
        REQUIRE(outcome.text == "not sent");
    }
}

TEST_CASE("a redirect to a replica of the map leads to that server", "[redis]")
{
    FakeCluster cluster;
    const auto with_id = [](const std::string& host) {
        return array({bulk(host), integer(7001), bulk("id-of-" + host)});
    };
    cluster.give({array(
        {integer(0), integer(16383), with_id("one"), with_id("replica")})});
    CHECK(cluster.ids.at("one") == "id-of-one");
    Outcome foo;
    cluster.get("foo", foo);
    cluster.servers["one"].reply("-MOVED 12182 replica:7001\r\n");
    CHECK(cluster.ids.at("replica") == "id-of-replica");
    Outcome bar;
    cluster.get("bar", bar);
    cluster.servers["one"].reply("-MOVED 5061 other:7001\r\n");
    CHECK(cluster.ids.at("other").empty());
}
