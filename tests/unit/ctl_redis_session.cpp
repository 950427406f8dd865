#include "catch.h"

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ctl/accounts/limits_place.h"
#include "ctl/doctor/checks.h"
#include "ctl/exit.h"
#include "ctl/move/store_mover.h"
#include "ctl/redis/await.h"
#include "ctl/redis/cluster_nodes.h"
#include "ctl/redis/redis_session.h"
#include "ctl/upgrade/record_upgrade.h"
#include "redis_replies.h"

using namespace petstore;
using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

const std::string kOk = "+OK\r\n";
const std::string kLost;  // instead of a reply
const std::string kSilence = "silence";

// Simulates the servers and records their commands.
struct World {
    using Script = std::function<std::string(const Words&)>;

    int owner(std::uint16_t slot) const
    {
        const auto found = moved.find(slot);
        return found != moved.end() ? found->second : slot < 8192 ? 1 : 2;
    }

    std::string host = "host";      // of all servers
    std::map<int, Script> servers;  // by port
    std::map<std::uint16_t, int> moved;
    std::set<int> down;
    std::set<int> refusing;
    std::vector<std::pair<int, Words>> seen;
    int maps = 0;
    ctl::Pump::Time now{1h};
    std::function<void()> on_wait = [] {};
};

// A pump whose waits take no time.
class FakePump final : public ctl::Pump {
public:
    explicit FakePump(World& world) : world_(world) {}

    Time now() const noexcept override { return world_.now; }

private:
    void wait(std::vector<pollfd>& /*sockets*/, Time until) override
    {
        if (until > world_.now) {
            world_.now = until;
            world_.on_wait();
        }
    }

    World& world_;
};

// A stream to a server of the World.
class FakeStream final : public redis::ByteStream {
public:
    FakeStream(World& world, int port) : world_(world), port_(port) {}

    std::size_t write(std::string_view bytes) override
    {
        input_ += bytes;
        while (!input_.empty()) {
            Words words;
            std::size_t at = 0;
            const auto number = [&](char mark) {
                CHECK(input_.at(at) == mark);
                const auto end = input_.find("\r\n", at);
                const int value = std::stoi(input_.substr(at + 1, end - at));
                at = end + 2;
                return static_cast<std::size_t>(value);
            };
            for (auto left = number('*'); left > 0; --left) {
                const auto size = number('$');
                words.push_back(input_.substr(at, size));
                at += size + 2;
            }
            input_.erase(0, at);
            world_.seen.emplace_back(port_, words);
            const auto reply =
                words[0] == "ASKING" ? kOk : world_.servers.at(port_)(words);
            closed_ = closed_ || reply == kLost;
            if (!closed_ && reply != kSilence) {
                output_ += reply;
            }
        }
        return bytes.size();
    }

    std::optional<std::size_t> read(char* buffer, std::size_t size) override
    {
        if (output_.empty()) {
            return closed_ ? std::optional<std::size_t>(0) : std::nullopt;
        }
        const std::size_t got = output_.copy(buffer, size);
        output_.erase(0, got);
        return got;
    }

    bool has_input() const noexcept override
    {
        return closed_ || !output_.empty();
    }
    int descriptor() const noexcept override { return 100 + port_; }

private:
    World& world_;
    int port_;
    std::string input_;
    std::string output_;
    bool closed_ = false;
};

ctl::OpenConnection open(World& world, int port)
{
    return {{"server " + std::to_string(port), "host"},
            ctl::Connection(std::make_unique<FakeStream>(world, port)),
            false,
            {}};
}

class FakeServers final : public ctl::ClusterServers {
public:
    explicit FakeServers(World& world) : world_(world) {}

    redis::SlotMap find_map() override
    {
        ++world_.maps;
        redis::SlotMap map;
        for (int slot = 0; slot < redis::kHashSlots; ++slot) {
            const auto number = static_cast<std::uint16_t>(slot);
            map.move(number, {world_.host, world_.owner(number)});
        }
        return map;
    }

    ctl::OpenConnection connect(const redis::ServerAddress& server) override
    {
        if (world_.down.count(server.port) != 0) {
            throw ctl::NotServing("nobody listens");
        }
        if (world_.refusing.count(server.port) != 0) {
            throw ctl::Failure("WRONGPASS");
        }
        return open(world_, server.port);
    }

private:
    World& world_;
};

// A key whose slot belongs to this server.
std::string key_of(int port, int number = 0)
{
    for (int i = 0;; ++i) {
        auto key = "k" + std::to_string(i);
        if ((redis::hash_slot(key) < 8192 ? 1 : 2) == port && number-- == 0) {
            return key;
        }
    }
}

redis::Command get(const std::string& key)
{
    return redis::Command("GET").key(key);
}

std::string moved_to(const std::string& key, int port,
                     const std::string& kind = "MOVED")
{
    return "-" + kind + " " + std::to_string(redis::hash_slot(key))
           + " host:" + std::to_string(port) + "\r\n";
}

std::string echo(const Words& words)
{
    return "+" + words.back() + "\r\n";
}

// The message of the call's failure; empty if it succeeds.
template <typename Call>
std::string failure_of(Call&& call)
{
    try {
        call();
        return "";
    } catch (const ctl::Failure& failure) {
        return failure.what();
    }
}

using Waiter = store::Waiter<std::string>;

// Asks, as store code does.
struct Reader final : redis::ReplyHandler {
    void on_reply(const redis::Reply& reply) noexcept override
    {
        if (reply.is_error()) {
            waiter->on_result(
                store::Failure{{api::ErrorCode::service_unavailable, "later"}});
        } else {
            waiter->on_result(std::string(reply.text()));
        }
    }
    void on_no_reply(redis::NoReply cause) noexcept override
    {
        waiter->on_result(
            store::Failure{{api::ErrorCode::service_unavailable, "later"},
                           cause == redis::NoReply::in_doubt});
    }
    Waiter* waiter = nullptr;
};

struct Session {
    Session()
    {
        for (const int port : {1, 2, 3}) {
            world.servers[port] = echo;
        }
        session = std::make_unique<ctl::RedisSession>(
            pump, std::make_unique<FakeServers>(world));
    }

    std::string ask(const std::string& key)
    {
        return std::string(session->call(get(key)).text());
    }

    // How long the call takes.
    template <typename Call>
    std::chrono::milliseconds time_of(Call&& call)
    {
        const auto before = world.now;
        call();
        return std::chrono::duration_cast<std::chrono::milliseconds>(world.now
                                                                     - before);
    }

    World world;
    FakePump pump{world};
    std::unique_ptr<ctl::RedisSession> session;
};

}  // namespace

TEST_CASE("cluster session: replies come in the order of the commands", "[ctl]")
{
    Session at;
    std::vector<std::string> keys;
    for (int i = 0; i < 50; ++i) {
        keys.push_back(key_of(1 + i % 2, i / 2));
        at.session->send(get(keys.back()));
    }
    CHECK(at.world.seen.empty());
    for (const auto& key : keys) {
        CHECK(at.session->receive().text() == key);
        CHECK(at.world.seen.size() == keys.size());  // all in one pipeline
    }
    CHECK(at.session->is_cluster());
}

TEST_CASE("cluster session: a redirect in a pipeline keeps the order", "[ctl]")
{
    Session at;
    const auto slow = key_of(1, 0);
    at.world.servers[1] = [&](const Words& words) {
        at.world.moved[redis::hash_slot(slow)] = 2;
        return words.back() == slow ? moved_to(slow, 2) : echo(words);
    };
    std::vector<std::string> keys = {slow, key_of(1, 1), key_of(2, 0), slow,
                                     key_of(2, 1)};
    for (const auto& key : keys) {
        at.session->send(get(key));
    }
    for (const auto& key : keys) {
        CHECK(at.session->receive().text() == key);
    }
    // From now on the command is sent to the new server.
    at.world.seen.clear();
    CHECK(at.ask(slow) == slow);
    CHECK(at.world.seen.size() == 1);
    CHECK(at.world.maps == 2);
}

TEST_CASE("cluster session: ASK is followed for one command only", "[ctl]")
{
    Session at;
    const auto key = key_of(1);
    at.world.servers[1] = [&](const Words&) { return moved_to(key, 3, "ASK"); };
    for (int i = 0; i < 2; ++i) {
        at.world.seen.clear();
        CHECK(at.ask(key) == key);
        REQUIRE(at.world.seen.size() == 3);
        CHECK(at.world.seen[0].first == 1);
        CHECK(at.world.seen[1].second == Words{"ASKING"});
        CHECK(at.world.seen[2].first == 3);
    }
}

TEST_CASE("cluster session: commands refused by a moving slot are repeated",
          "[ctl]")
{
    const std::string refusal = GENERATE(
        "-TRYAGAIN Multiple keys request during rehashing\r\n",
        "-CLUSTERDOWN The cluster is down\r\n",
        "-ERR Script attempted to access a non local key in a cluster node\r\n");
    Session at;
    int refusals = 3;
    at.world.servers[1] = [&](const Words& words) {
        return refusals-- > 0 ? refusal : echo(words);
    };
    CHECK(at.time_of([&] { CHECK(at.ask(key_of(1)) == key_of(1)); }) < 1s);

    // It gives up eventually.
    refusals = 1'000'000;
    const auto time = at.time_of([&] {
        CHECK(failure_of([&] { at.ask(key_of(1)); })
              == "server 1: " + refusal.substr(1, refusal.size() - 3));
    });
    CHECK(time > 14s);
    CHECK(time < 16s);
}

TEST_CASE("cluster session: damage is reported unless the slot is moving",
          "[ctl]")
{
    Session at;
    const auto key = key_of(1);
    int asked = 0;
    at.world.servers[1] = [&](const Words&) {
        return std::string("-DAMAGED key\r\n");
    };
    CHECK(failure_of([&] { at.ask(key); }) == "the Redis key key is damaged");
    CHECK(at.world.seen.size() == 1);
    at.world.servers[1] = [&](const Words&) { return moved_to(key, 3, "ASK"); };
    at.world.servers[3] = [&](const Words& words) {
        return ++asked < 3 ? "-DAMAGED key\r\n" : echo(words);
    };
    CHECK(at.ask(key) == key);
}

TEST_CASE("cluster session: an upgrade takes any number of keys of an account",
          "[ctl]")
{
    // A link takes 16,384 commands at once.
    constexpr std::size_t kKeys = 17'000;
    Session at;
    std::size_t reset = 0;
    const auto answer = [&](const Words& words) -> std::string {
        if (words[0] == "TIME") {
            return array({bulk("1700000000"), bulk("0")});
        }
        if (words[0] == "HGETALL") {
            const auto& name = words[1];
            return name.substr(0, 6) != "P:key:"
                       ? array({})
                       : array({bulk("id"), bulk(name.substr(6)),
                                bulk("account"), bulk("a1"), bulk("plan"),
                                bulk("pro"), bulk("created"),
                                bulk("1600000000"), bulk("last4"),
                                bulk("abcd")});
        }
        reset += words[0] == "HDEL";
        return integer(1);
    };
    for (const int port : {1, 2}) {
        at.world.servers[port] = answer;
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kKeys; ++i) {
        names.push_back("P:key:" + std::to_string(i));
    }
    const store::Schema schema("P");
    ctl::RecordUpgrade upgrade(*at.session, schema);
    upgrade.run(names);
    CHECK(upgrade.damaged().empty());
    CHECK(upgrade.keys() == kKeys);
    CHECK(reset == kKeys);
}

TEST_CASE("cluster session: contradicting servers get time to agree", "[ctl]")
{
    Session at;
    const auto key = key_of(1);
    auto agree = at.world.now + 400ms;
    for (const int port : {1, 2}) {
        at.world.servers[port] = [&, port](const Words& words) {
            return at.world.now >= agree ? echo(words)
                                         : moved_to(key, 3 - port);
        };
    }
    CHECK(at.ask(key) == key);
    agree = at.world.now + 1h;
    const auto time = at.time_of([&] {
        CHECK(failure_of([&] { at.ask(key); }).find("MOVED")
              != std::string::npos);
    });
    CHECK(time > 14s);
    CHECK(time < 16s);
}

TEST_CASE("cluster session: waits for the end of a failover", "[ctl]")
{
    Session at;
    const auto key = key_of(1);
    at.world.down.insert(1);
    const auto end = at.world.now + 3s;
    at.world.on_wait = [&] {
        if (at.world.now >= end) {
            at.world.moved[redis::hash_slot(key)] = 3;
        }
    };
    CHECK(at.ask(key) == key);
    CHECK(at.world.seen.back().first == 3);
    CHECK(at.world.now < end + 1s);
    // Commands to other servers do not wait.
    CHECK(at.time_of([&] { CHECK(at.ask(key_of(2)) == key_of(2)); }) == 0s);
    const auto time = at.time_of(
        [&] { CHECK_THROWS_AS(at.ask(key_of(1, 7)), ctl::NotServing); });
    CHECK(time > 14s);
    CHECK(time < 16s);
}

TEST_CASE("cluster session: a refused login is reported at once", "[ctl]")
{
    Session at;
    at.world.refusing = {1};
    const auto time = at.time_of(
        [&] { CHECK(failure_of([&] { at.ask(key_of(1)); }) == "WRONGPASS"); });
    CHECK(time == 0s);
}

TEST_CASE("cluster session: a command whose reply was lost is not repeated",
          "[ctl]")
{
    Session at;
    const auto key = key_of(1);
    at.world.servers[1] = [&](const Words&) { return kLost; };
    at.session->send(get(key_of(2)));
    at.session->send(get(key));
    CHECK(at.session->receive().text() == key_of(2));
    try {
        at.session->receive();
        FAIL("a reply");
    } catch (const ctl::LostConnection& lost) {
        CHECK(lost.sent());
    }
    CHECK(at.world.seen.size() == 2);
    // A later command opens a new connection.
    at.world.servers[1] = echo;
    CHECK(at.ask(key_of(1, 1)) == key_of(1, 1));
}

TEST_CASE("cluster session: a script's text follows its digest", "[ctl]")
{
    Session at;
    const redis::Script script("return 1");
    at.world.servers[1] = [&](const Words& words) {
        return words[0] == "EVALSHA" ? "-NOSCRIPT No\r\n" : kOk;
    };
    redis::Command command(script, 1);
    CHECK(at.session->run(command.key(key_of(1))).text() == "OK");
    CHECK(at.world.seen.back().second[0] == "EVAL");
    at.world.servers[1] = [&](const Words&) {
        return std::string("-WRONGTYPE x\r\n");
    };
    CHECK(failure_of([&] {
              at.session->run(get(key_of(1)));
          }).find("the Redis key " + key_of(1))
          == 0);
}

TEST_CASE("cluster session: each server is visited while no slot moves",
          "[ctl]")
{
    Session at;
    bool moving = false;
    for (const int port : {1, 2}) {
        at.world.servers[port] = [&](const Words& words) {
            return words[0] != "CLUSTER" ? kOk
                   : moving              ? "+id h:1@2 myself 0-3 [93->-x]\r\n"
                                         : "+id h:1@2 myself 0-3\r\n";
        };
    }
    int visits = 0;
    const auto count = [&](ctl::RedisSession& server) {
        ++visits;
        server.call(redis::Command("SCAN"));
    };
    at.session->each_server(count);
    CHECK(visits == 2);
    CHECK_THROWS_AS(at.session->each_server(
                        [&](ctl::RedisSession&) { at.world.moved[7] = 2; }),
                    ctl::Failure);
    moving = true;
    CHECK_THROWS_AS(at.session->each_server(count), ctl::Failure);
    CHECK(visits == 2);

    // A user who may not know whether one moves.
    at.world.servers[2] = [](const Words&) {
        return "-NOPERM this user may not run 'cluster|nodes'\r\n";
    };
    moving = false;
    const auto refused = failure_of([&] { at.session->each_server(count); });
    CHECK(refused.find("server 2: NOPERM this user may not run 'cluster|nodes'")
          == 0);
    CHECK(refused.find("\"Access rules\"") != std::string::npos);
    CHECK(visits == 2);
}

TEST_CASE("cluster session: no move begins that cannot search", "[ctl]")
{
    const store::Schema schema("p");
    Session main;
    Session other;
    std::string refusal;
    std::string main_place = "$-1\r\n";
    std::string other_place = "$-1\r\n";
    const auto answer = [&](Session& at, const std::string& nodes,
                            const std::string& place) {
        for (const int port : {1, 2}) {
            at.world.servers[port] = [&](const Words& words) -> std::string {
                const auto& name = words[0];
                const auto& key = words.back();
                return name == "CLUSTER" ? nodes
                       : name == "SCAN"  ? "*2\r\n$1\r\n0\r\n*0\r\n"
                       : name == "SET"   ? kOk
                       : name == "EXISTS" && &at == &other ? ":0\r\n"
                       : name != "GET"                     ? ":1\r\n"
                       : key == schema.limits_marker()     ? place
                                                           : "$-1\r\n";
            };
        }
    };
    const std::string settled = "+id h:1@2 myself 0-3\r\n";
    const bool main_refuses = GENERATE(true, false);
    answer(main, main_refuses ? refusal : settled, main_place);
    answer(other, main_refuses ? settled : refusal, other_place);
    SECTION("forbidden")
    {
        refusal = "-NOPERM cluster|nodes\r\n";
    }
    SECTION("a slot moves")
    {
        refusal = "+id h:1@2 myself 0-3 [93->-x]\r\n";
    }
    const std::string why = refusal[0] == '-' ? "NOPERM" : "being moved";
    const auto refused = [&](auto&& run) {
        main.world.seen.clear();
        other.world.seen.clear();
        CHECK(failure_of(run).find(why) != std::string::npos);
        for (const auto* world : {&main.world, &other.world}) {
            for (const auto& [port, words] : world->seen) {
                // Neither marked nor fenced.
                CHECK((words[0] != "SET" || words[1] == schema.limits_probe()));
            }
        }
    };
    auto& redis = *main.session;
    auto& second = *other.session;
    refused([&] { ctl::StoreMover(redis, second, schema).run(); });
    refused([&] { ctl::LimitsPlace(redis, &second, schema).move_out(false); });

    // Resumed.
    main_place = "+elsewhere id\r\n";
    other_place = "+elsewhere id\r\n";
    refused([&] { ctl::LimitsPlace(redis, &second, schema).move_out(false); });
    refused([&] { ctl::LimitsPlace(redis, &second, schema).move_back(); });
    main_place = "+elsewhere-from id\r\n";
    other_place = "+elsewhere-to id\r\n";
    refused([&] { ctl::StoreMover(redis, second, schema).run(); });

    // What is complete needs no search.
    other_place = "+here id\r\n";
    CHECK(ctl::StoreMover(redis, second, schema).run().accounts == 0);
    main_place = "+elsewhere id\r\n";
    CHECK(ctl::LimitsPlace(redis, &second, schema).move_out(false) == 0);

    // Nor does what advises something else.
    other_place = "+here other\r\n";
    CHECK(failure_of([&] {
              ctl::LimitsPlace(redis, &second, schema).move_out(false);
          }).find("another store")
          != std::string::npos);
}

TEST_CASE("cluster session: servers that are away are waited for once", "[ctl]")
{
    Session s;
    s.world.down = {2};
    Reader away[2];
    Reader there;
    ctl::Awaited<std::string> results[3];
    const auto ask = [&](Reader& reader, int number, const std::string& key) {
        reader.waiter = &results[number];
        s.session->link().send(get(key), reader);
    };
    const auto time = s.time_of([&] {
        ask(away[0], 0, key_of(2));
        ask(away[1], 1, key_of(2, 1));
        ask(there, 2, key_of(1));
        s.pump.run_until([&] { return results[2].ready(); });
        CHECK(results[2].take(s.pump) == key_of(1));
        CHECK_FALSE(results[0].ready());
        s.pump.run_until(
            [&] { return results[0].ready() && results[1].ready(); });
        CHECK_THROWS_AS(results[0].take(s.pump), ctl::NotServing);
        CHECK_THROWS_AS(results[1].take(s.pump), ctl::NotServing);
    });
    CHECK(time > 14s);
    CHECK(time < 16s);

    // A command without a key goes to a server that is there.
    Session other;
    other.world.down = {1};
    const auto asked = other.time_of([&] {
        other.session->send(redis::Command("PING"));
        CHECK(other.session->receive().text() == "PING");
    });
    CHECK(asked == 0s);
}

TEST_CASE("cluster session: doctor names no server if all are well", "[ctl]")
{
    Session at;
    at.world.host = "redis-worker-1";
    const auto found = ctl::check_workers(*at.session, store::Schema("p"),
                                          ctl::WorkerData::catalogue, "of ");
    REQUIRE(found.size() == 2);
    CHECK(found[0].check == "of worker rights");
    CHECK(found[1].check == "of worker writes");
}

TEST_CASE("a server that stops replying is given up", "[ctl]")
{
    World world;
    FakePump pump(world);
    world.servers[1] = [](const Words& words) {
        return words.back() == "b" ? kSilence : echo(words);
    };
    ctl::RedisSession session(pump, open(world, 1));
    CHECK_FALSE(session.is_cluster());
    session.send(get("a"));
    session.send(get("b"));
    CHECK(session.receive().text() == "a");
    const auto before = world.now;
    try {
        session.receive();
        FAIL("a reply");
    } catch (const ctl::LostConnection& lost) {
        CHECK(lost.sent());
        CHECK(lost.what() == std::string("server 1: no answer in time"));
    }
    CHECK(world.now - before == 60s);
    // Nothing more is sent: the data may be others.
    const auto count = world.seen.size();
    try {
        session.call(get("a"));
        FAIL("a reply");
    } catch (const ctl::LostConnection& lost) {
        CHECK_FALSE(lost.sent());
    }
    CHECK(world.seen.size() == count);
}

TEST_CASE("an idle connection is proven before the next command", "[ctl]")
{
    World world;
    FakePump pump(world);
    world.servers[1] = world.servers[2] = echo;
    auto connection = open(world, 1);
    bool replaceable = true;
    connection.reopen = [&] {
        if (!replaceable) {
            throw redis::ConnectionError("replaced meanwhile");
        }
        return ctl::Connection(std::make_unique<FakeStream>(world, 2));
    };
    ctl::RedisSession session(pump, std::move(connection));
    CHECK(session.call(get("a")).text() == "a");
    world.now += 1s;
    CHECK(session.call(get("b")).text() == "b");
    CHECK(world.seen.size() == 2);

    world.now += 2s;
    CHECK(session.call(get("c")).text() == "c");
    REQUIRE(world.seen.size() == 4);
    CHECK(world.seen[2].second == Words{"PING"});

    world.servers[1] = [](const Words&) { return kLost; };
    world.now += 2s;
    CHECK(session.call(get("d")).text() == "d");
    CHECK(world.seen.back().first == 2);

    world.servers[2] = [](const Words&) { return kLost; };
    world.now += 2s;
    replaceable = false;
    try {
        session.call(get("e"));
        FAIL("a reply");
    } catch (const ctl::LostConnection& lost) {
        CHECK_FALSE(lost.sent());
        CHECK(lost.what() == std::string("server 1: replaced meanwhile"));
    }
}

namespace {

store::Task<std::string> text_at(redis::Link& link, std::string key)
{
    const redis::Reply& reply = co_await store::ask(link, get(key));
    co_return std::string(reply.text());
}

store::Task<> no_key()
{
    throw store::Failed{
        store::Failure{{api::ErrorCode::not_found, "There is no such key."}}};
    co_return;
}

store::Task<> change(const std::function<void(int&)>& how)
{
    int record = 0;
    how(record);
    co_return;
}

}  // namespace

TEST_CASE("what a change throws ends its operation", "[ctl]")
{
    Session at;
    std::exception_ptr kept;
    const auto run = [&](const std::function<void(int&)>& how) {
        ctl::await(at.pump, change(ctl::keep_error(kept, how)), kept);
    };
    run([](int&) {});
    CHECK_THROWS_AS(run([](int&) { throw ctl::UsageError("no"); }),
                    ctl::UsageError);
    CHECK_THROWS_AS(run([](int&) { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST_CASE("what the store throws reads as if Redis had failed", "[ctl]")
{
    Session at;
    const auto fail = [](int&) { throw std::runtime_error("no"); };
    try {
        ctl::await(at.pump, change(fail));
        FAIL("a result");
    } catch (const ctl::Failure& failure) {
        CHECK(failure.kind() == ctl::Failure::Kind::redis_unavailable);
    }
}

TEST_CASE("a command awaits the outcomes of store code", "[ctl]")
{
    Session at;
    const auto read = [&] {
        return ctl::await(at.pump, text_at(at.session->link(), key_of(1)));
    };
    CHECK(read() == key_of(1));

    at.world.servers[1] = [](const Words&) { return "-OOM full\r\n"; };
    CHECK(failure_of(read) == "server 1: OOM full");
    at.world.servers[1] = [](const Words&) { return kLost; };
    try {
        read();
        FAIL("a result");
    } catch (const ctl::LostConnection& lost) {
        CHECK(lost.sent());
    }
    try {
        ctl::await(at.pump, no_key());
        FAIL("a result");
    } catch (const ctl::Failure& failure) {
        CHECK(failure.kind() == ctl::Failure::Kind::not_found);
        CHECK(failure.what() == std::string("There is no such key."));
    }
}

TEST_CASE("the servers of a Cluster are read from CLUSTER NODES", "[ctl]")
{
    const auto nodes = ctl::parse_cluster_nodes(
        "b1 10.0.0.4:6379@16379,name slave a1 0 1 1 connected\n"
        "a1 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-8191\n"
        "a2 :7000@17000 master - 0 0 2 connected 8192-16383 [93->-a1]\n"
        "b2 10.0.0.5:6379@16379 slave,fail a2 0 1 1 disconnected\n"
        "c1 :0@0 master,noaddr - 0 0 0 disconnected 93\n"
        "nonsense\n"
        "a3 ::1:6379@16379 master - 0 0 3 connected\n",
        "asked");
    REQUIRE(nodes.size() == 6);
    CHECK(nodes[0].name() == "10.0.0.1:6379");
    CHECK(nodes[0].is_primary);
    CHECK(nodes[0].has_slots);
    CHECK(nodes[0].replicas == 1);
    CHECK(nodes[1].name() == "asked:7000");
    CHECK(nodes[1].replicas == 0);
    CHECK(nodes[1].address.id.text() == "a2");
    CHECK_FALSE(nodes[2].has_address());
    CHECK(nodes[2].has_slots);
    CHECK(nodes[2].name() == "node c1");
    CHECK(nodes[3].address.host == "::1");
    CHECK_FALSE(nodes[3].has_slots);
    CHECK_FALSE(nodes[4].is_primary);
    CHECK(nodes[5].name() == "10.0.0.5:6379");
    CHECK(ctl::parse_cluster_nodes("", "x").empty());
}

TEST_CASE("the servers of a Cluster have the addresses of its map", "[ctl]")
{
    auto nodes = ctl::parse_cluster_nodes(
        "a1 10.0.0.1:6379@16379,one.test master - 0 0 1 connected 0-8191\n"
        "b1 10.0.0.2:6379@16379,two.test slave a1 0 1 1 connected\n"
        "a2 10.0.0.3:6379@16379,three.test master - 0 0 2 connected\n",
        "asked");
    const auto server = [](const std::string& host, const std::string& id) {
        return array({bulk(host), integer(6380), bulk(id), array({})});
    };
    Replies replies;
    const auto map = redis::SlotMap::parse(
        replies(
            array({array({integer(0), integer(8191), server("one.test", "a1"),
                          server("two.test", "b1")})})),
        "asked");
    REQUIRE(map);
    ctl::take_addresses(*map, nodes);
    REQUIRE(nodes.size() == 3);
    CHECK(nodes[0].name() == "one.test:6380");
    CHECK(nodes[0].replicas == 1);
    CHECK(nodes[1].name() == "10.0.0.3:6379");
    CHECK(nodes[2].name() == "two.test:6380");
    CHECK(nodes[2].address.id.text() == "b1");
}
