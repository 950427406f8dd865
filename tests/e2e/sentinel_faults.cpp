// Sentinels that are down, hang or lie; most are fakes.
#include <atomic>
#include <mutex>

#include "chaos/dns_server.h"
#include "support/certificates.h"
#include "support/sentinels.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

std::string array_of(const Words& words)
{
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) {
        text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return text;
}

std::size_t lines_with(const NginxServer& nginx, const std::string& part)
{
    std::size_t count = 0;
    for (const auto& line : split(nginx.error_log(), '\n')) {
        count += contains(line, part) ? 1 : 0;
    }
    return count;
}

// A Sentinel whose replies the test sets.
class FakeSentinel {
public:
    explicit FakeSentinel(const RedisServer& primary)
        : FakeSentinel(
            array_of({own_address(), std::to_string(primary.port())}))
    {}
    explicit FakeSentinel(std::string answer) : answer_(std::move(answer)) {}

    std::string url() const { return fake_.url(); }
    std::string address() const { return fake_.address(); }

    // Sets the reply to the query for the address; empty for no reply.
    void answer(const std::string& bytes)
    {
        const std::lock_guard lock(mutex_);
        answer_ = bytes;
    }
    void answer(const RedisServer& primary)
    {
        answer(array_of({own_address(), std::to_string(primary.port())}));
    }
    // Sets what else it knows of this primary; nothing by default.
    void know(const RedisServer& primary, const std::string& run_id)
    {
        const std::lock_guard lock(mutex_);
        record_ = array_of({"name", "main", "ip", own_address(), "port",
                            std::to_string(primary.port()), "runid", run_id,
                            "flags", "master"});
    }
    void refuse_subscribe() { refuses_ = true; }
    // Answers the query only when SUBSCRIBE has arrived, too.
    void answer_late() { late_ = true; }
    void be_silent(bool silent = true) { silent_ = silent; }

    void announce(const RedisServer& primary, const std::string& name = "main")
    {
        answer(primary);
        fake_.push(array_of({"message", "+switch-master",
                             name + " 10.0.0.1 6379 " + own_address() + " "
                                 + std::to_string(primary.port())}));
    }
    void push(const std::string& bytes) { fake_.push(bytes); }
    void drop(bool refuse = false) { fake_.drop(refuse); }

    int asked() const { return asked_; }
    int subscribed() const { return subscribed_; }
    int connections() const { return fake_.connections(); }
    int open() const { return fake_.open(); }
    int pings() const { return pings_; }

private:
    std::mutex mutex_;
    std::string answer_;
    std::string record_ = "-ERR unknown subcommand\r\n";
    std::atomic<bool> refuses_{false};
    std::atomic<bool> late_{false};
    std::atomic<bool> silent_{false};
    std::atomic<bool> in_subscription_{false};
    std::atomic<int> asked_{0};
    std::atomic<int> subscribed_{0};
    std::atomic<int> pings_{0};
    FakeRedis fake_{[this](const Words& command) -> FakeRedis::Answer {
                        if (silent_) {
                            return {};
                        }
                        if (command[0] == "SENTINEL") {
                            in_subscription_ = false;
                            const std::lock_guard lock(mutex_);
                            if (command[1] == "MASTER") {
                                return {record_};
                            }
                            ++asked_;
                            return {late_ ? "" : answer_};
                        }
                        if (command[0] == "SUBSCRIBE" && refuses_) {
                            return {"-NOPERM no permissions\r\n"};
                        }
                        if (command[0] == "SUBSCRIBE") {
                            in_subscription_ = true;
                            ++subscribed_;
                            const std::lock_guard lock(mutex_);
                            return {(late_ ? answer_ : "")
                                    + "*3\r\n$9\r\nsubscribe\r\n$14\r\n"
                                      "+switch-master\r\n:1\r\n"
                                      "*3\r\n$9\r\nsubscribe\r\n$15\r\n"
                                      "+promoted-slave\r\n:2\r\n"};
                        }
                        if (command[0] == "PING" && in_subscription_) {
                            ++pings_;
                            return {array_of({"pong", ""})};
                        }
                        return {"+PONG\r\n"};
                    },
                    FakeRedis::Socket::tcp};
};

NginxOptions
with(const std::string& urls,
     const std::string& timeouts =
         "petstore_redis_timeout 10s; petstore_redis_connect_timeout 10s;")
{
    NginxOptions options;
    options.redis = "sentinel=main " + urls;
    options.location = timeouts;
    return options;
}

const char* const kShort =
    "petstore_redis_timeout 5s; petstore_redis_connect_timeout 900ms;";

}  // namespace

TEST_CASE("sentinel faults: unusable Sentinels are skipped")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    FakeSentinel good(redis);
    FakeSentinel bad("");
    FakeRedis dead([](const Words&) { return FakeRedis::Answer{}; },
                   FakeRedis::Socket::tcp);
    std::string urls;
    SECTION("one is dead")
    {
        dead.drop(true);
        urls = dead.url();
    }
    SECTION("nothing listens")
    {
        urls = "redis://" + own_address() + ":" + std::to_string(free_port());
    }
    SECTION("one hangs")
    {
        urls = bad.url();
    }
    SECTION("one does not answer at all")
    {
        bad.be_silent();
        urls = bad.url();
    }
    SECTION("one knows no such primary")
    {
        bad.answer("*-1\r\n");
        urls = bad.url();
    }
    SECTION("one wants a password")
    {
        bad.answer("-NOAUTH Authentication required.\r\n");
        urls = bad.url();
    }
    SECTION("one is an ordinary Redis")
    {
        urls = redis.tcp_url();
    }
    SECTION("one speaks nonsense")
    {
        bad.answer("HTTP/1.1 400 Bad Request\r\n\r\n");
        urls = bad.url();
    }
    SECTION("one answers with an invalid address")
    {
        bad.answer(array_of({"a b", "6379"}));
        urls = bad.url();
    }
    SECTION("one never ends its answer")
    {
        bad.answer("*2\r\n$1000000\r\n" + std::string(900000, 'x'));
        urls = bad.url();
    }
    SECTION("one announces a huge answer")
    {
        bad.answer("*1000000000\r\n$1000000\r\n");
        urls = bad.url();
    }
    NginxServer nginx(with(urls + " " + good.url(), kShort));
    Http http(nginx.url(), key.secret);
    // The first request waits for the second Sentinel.
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(lines_with(nginx, "[error]") == 0);
    CHECK(lines_with(nginx, "[warn]") == 0);
}

TEST_CASE("sentinel faults: a Sentinel that lies is not believed twice")
{
    const RedisServer redis;
    RedisServer replica(
        {"replicaof " + own_address() + " " + std::to_string(redis.port())});
    const auto key = create_key(redis);
    FakeSentinel good(redis);
    FakeSentinel liar("");
    std::string reason;
    SECTION("a replica's address")
    {
        liar.answer(replica);
        reason = ": is a replica";
    }
    SECTION("an address where nobody listens")
    {
        liar.answer(array_of({own_address(), std::to_string(free_port())}));
        reason = ": could not connect";
    }
    SECTION("a host name")
    {
        liar.answer(array_of({"redis.petstore.test", "6379"}));
        reason = "host name";
    }
    NginxServer nginx(with(liar.url() + " " + good.url(), kShort));
    Http http(nginx.url(), key.secret);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(liar.asked() <= 2);
    for (int i = 0; i < 20; ++i) {
        CHECK(http.get("/v1/pets").status == 200);
    }
    CHECK(lines_with(nginx, "[error]") <= 1);
    CHECK(lines_with(nginx, reason) >= 1);
    CHECK(lines_with(nginx, "is back") <= 1);
}

TEST_CASE(
    "sentinel faults: a DNS that hangs is not taken for Sentinels that do")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    const DnsServer dns({{}, DnsServer::no_error, true});
    const FakeSentinel sentinel(array_of({"redis.petstore.test", "6379"}));
    auto options = with(sentinel.url(), kShort);
    options.http = dns.resolver();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    CHECK(lines_with(nginx, "redis.petstore.test could not be resolved") == 1);
    CHECK(lines_with(nginx, "no Sentinel answered in time") == 0);
}

TEST_CASE(
    "sentinel faults: another server at the primary's address is not used")
{
    RedisServer redis;
    const auto key = create_key(redis);
    const auto run_id = [&redis] {
        const auto text = redis.command({"INFO", "server"}).text;
        const auto start = text.find("run_id:") + 7;
        return text.substr(start, 40);
    };
    FakeSentinel sentinel(redis);
    sentinel.know(redis, run_id());
    NginxServer nginx(with(sentinel.url(), kShort));
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);

    // As if a server of another store had been given the address.
    redis.kill_hard();
    redis.lose_data();
    redis.start();
    int refused = 0;
    const auto asked = sentinel.asked();
    CHECK(wait_until([&] {
        refused += http.get("/v1/pets").status == 503 ? 1 : 0;
        return refused >= 50 && sentinel.asked() >= asked + 3;
    }));
    CHECK(http.get("/v1/pets").status == 503);
    CHECK(redis.command({"DBSIZE"}).integer == 0);
    CHECK(lines_with(nginx, "is another server than the one meant") == 1);

    // The Sentinel has asked the server meanwhile: it is the one that is meant.
    sentinel.know(redis, run_id());
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 401; }));
}

TEST_CASE("sentinel faults: all are dead, then one is back")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    FakeSentinel first(redis);
    FakeSentinel second(redis);
    first.be_silent();
    second.be_silent();
    NginxServer nginx(with(first.url() + " " + second.url(), kShort));
    Http http(nginx.url(), key.secret);
    for (int i = 0; i < 10; ++i) {
        expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    }
    CHECK(wait_until(
        [&] { return lines_with(nginx, "no usable Sentinel") == 1; }));
    CHECK(lines_with(nginx, "[error]") == 1);
    second.be_silent(false);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(lines_with(nginx, "a Sentinel answers again") == 1);
    CHECK(lines_with(nginx, "[error]") == 1);
}

TEST_CASE("sentinel faults: a switch is followed by an idle worker")
{
    const RedisServer old;
    const auto key = create_key(old, {});
    RedisServer next({"appendonly no"});
    next.command({"REPLICAOF", own_address(), std::to_string(old.port())});
    REQUIRE(wait_until([&] {
        return next.command({"DBSIZE"}).integer
               == old.command({"DBSIZE"}).integer;
    }));
    next.command({"REPLICAOF", "NO", "ONE"});
    FakeSentinel sentinel(old);
    NginxServer nginx(with(sentinel.url()));
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", "{\"name\":\"a\",\"categoryId\":1}").status
          == 201);
    REQUIRE(wait_until([&] { return sentinel.subscribed() == 1; }));
    SECTION("by a message")
    {
        sentinel.announce(next, "other");
        sentinel.announce(next);
    }
    SECTION("without a message")
    {
        sentinel.answer(next);
    }
    SECTION("after a lost subscription")
    {
        sentinel.answer(next);
        sentinel.drop();
    }
    SECTION("after a Sentinel that hung")
    {
        sentinel.be_silent();
        REQUIRE(wait_until([&] { return sentinel.connections() > 1; }));
        sentinel.answer(next);
        sentinel.be_silent(false);
    }
    SECTION("after nonsense")
    {
        sentinel.answer(next);
        sentinel.push("nonsense\r\n");
    }
    CHECK(wait_until(
        [&] { return lines_with(nginx, "primary changed to") == 1; }));
    // Nothing is served from the old primary, and nothing is written to it.
    Monitor monitor(old);
    CHECK(http.get("/v1/pets/1").status == 404);
    CHECK(http.post("/v1/pets", "{\"name\":\"b\",\"categoryId\":1}")
              .header("location")
          == "/v1/pets/1");
    CHECK(monitor.names().empty());
}

TEST_CASE("sentinel faults: no message is lost between answer and subscription")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    FakeSentinel sentinel(redis);
    sentinel.answer_late();
    const NginxServer nginx(with(sentinel.url()));
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    CHECK(sentinel.connections() == 1);
}

TEST_CASE("sentinel faults: the same Sentinel is asked again every ten seconds")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    FakeSentinel sentinel(redis);
    FakeSentinel other(redis);
    const NginxServer nginx(with(sentinel.url() + " " + other.url()));
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    const auto before = Clock::now();
    int failed = 0;
    CHECK(wait_until([&] {
        failed += http.get("/v1/pets").status == 200 ? 0 : 1;
        return sentinel.subscribed() == 3;
    }));
    CHECK(failed == 0);
    CHECK(Clock::now() - before > 15s);
    CHECK(sentinel.asked() == 3);
    CHECK(wait_until([&] { return sentinel.open() == 1; }));
    CHECK(other.connections() == 0);
    CHECK(lines_with(nginx, "[error]") == 0);
    CHECK(lines_with(nginx, "primary changed to") == 0);
}

TEST_CASE("sentinel faults: without SUBSCRIBE it is asked every second")
{
    const RedisServer old;
    const auto key = create_key(old);
    const RedisServer next;
    FakeSentinel sentinel(old);
    sentinel.refuse_subscribe();
    NginxServer nginx(with(sentinel.url()));
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(wait_until([&] { return sentinel.asked() >= 3; }));
    CHECK(sentinel.connections() == 1);
    CHECK(lines_with(nginx, "does not allow SUBSCRIBE (NOPERM)") == 1);
    sentinel.answer(next);
    CHECK(wait_until(
        [&] { return lines_with(nginx, "primary changed to") == 1; }));
    CHECK(http.get("/v1/pets").status == 401);  // the other Redis has no keys
    CHECK(lines_with(nginx, "[error]") == 0);
}

TEST_CASE(
    "sentinel faults: a flood of switches does not move a worker back and forth")
{
    const RedisServer redis;
    const auto key = create_key(redis);
    const RedisServer other;
    FakeSentinel sentinel(redis);
    NginxServer nginx(with(sentinel.url()));
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    REQUIRE(wait_until([&] { return sentinel.subscribed() == 1; }));
    const int connections = sentinel.connections();
    for (int i = 0; i < 500; ++i) {
        sentinel.announce(i % 2 == 0 ? other : redis);
    }
    sentinel.answer(redis);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(wait_until([&] { return sentinel.connections() > connections; }));
    CHECK(sentinel.connections() < connections + 20);
    CHECK(lines_with(nginx, "primary changed to") < 20);
}

TEST_CASE("sentinel faults: commands in flight end in doubt and others wait")
{
    const RedisServer next;
    const auto key = create_key(next);
    RedisServer old;
    const auto same = import_key(old, key.secret);
    FakeRedis slow(forward_to(old), FakeRedis::Socket::tcp);
    const auto port = slow.address().substr(slow.address().find(':') + 1);
    FakeSentinel sentinel(array_of({own_address(), port}));
    NginxServer nginx(with(sentinel.url()));
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    REQUIRE(wait_until([&] { return sentinel.subscribed() == 1; }));
    slow.hold();
    const int commands = slow.commands();
    RawClient client(nginx.port());
    client.send("GET /v1/pets HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer "
                + key.secret + "\r\nConnection: close\r\n\r\n");
    REQUIRE(wait_until([&] { return slow.commands() > commands; }));
    sentinel.announce(next);
    CHECK(contains(client.read_all(), " 503 "));
    // Over a new connection, without waiting for the timeout of 10 s.
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(lines_with(nginx, "[error]") == 0);
    slow.release();
}

TEST_CASE("sentinel faults: a graceful stop does not wait for Sentinels")
{
    const RedisServer redis;
    FakeSentinel sentinel(redis);
    FakeSentinel other(redis);
    other.be_silent();
    // A worker that stops before it knows the primary first finishes its
    // attempt to connect, and waits for what it has to publish.
    NginxServer nginx(with(sentinel.url() + " " + other.url(), kShort));
    REQUIRE(wait_until([&] {
        return redis.command({"HLEN", "petstore:hosts"}).integer == 1;
    }));
    SECTION("subscribed")
    {
        REQUIRE(wait_until([&] { return sentinel.subscribed() == 1; }));
    }
    SECTION("asking")
    {
        sentinel.be_silent();
        sentinel.drop();
        REQUIRE(wait_until([&] { return other.connections() == 1; }));
    }
    const auto before = Clock::now();
    nginx.quit();
    CHECK(Clock::now() - before < 60s);
    CHECK(
        wait_until([&] { return sentinel.open() == 0 && other.open() == 0; }));
}

TEST_CASE("sentinel faults: nginx -t connects to no Sentinel")
{
    const RedisServer redis;
    FakeSentinel sentinel(redis);
    CHECK(NginxServer::check(with(sentinel.url())).code == 0);
    CHECK(sentinel.connections() == 0);
}
