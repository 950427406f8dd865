// docs/sentinel.md: petstorectl finds the primary through Sentinels.
#include "chaos/fault_proxy.h"
#include "support/replicas.h"
#include "support/sentinel_server.h"
#include "support/slow_import.h"
#include "support/tls_redis.h"

using namespace petstore::e2e;

namespace {

std::string by_sentinels(const std::vector<std::string>& urls,
                         const std::string& name = "pets")
{
    std::string text = "sentinel=" + name;
    for (const auto& url : urls) {
        text += " " + url;
    }
    return text;
}

// An address where nothing listens.
std::string nobody()
{
    return "redis://" + own_address() + ":" + std::to_string(free_port());
}

// A Sentinel that reports this server, whatever it is asked.
FakeRedis::Script naming(const std::string& host, int port)
{
    return [host, port](const Words&) {
        return FakeRedis::Answer{encode({host, std::to_string(port)})};
    };
}

FakeRedis::Script replying(const std::string& bytes)
{
    return [bytes](const Words&) { return FakeRedis::Answer{bytes}; };
}

// A primary, its replica, and a Sentinel able to promote it.
struct Replicated {
    explicit Replicated(const std::vector<std::string>& more = {})
        : config(with(more)), primary(config), replica(config),
          sentinel((follow(replica, primary), primary))
    {
        if (!wait_until([this] { return sentinel.knows_a_replica(); })) {
            throw HarnessError("the Sentinel does not see the replica");
        }
    }

    static std::vector<std::string> with(const std::vector<std::string>& more)
    {
        auto config = kReplicated;
        config.push_back("replica-announce-ip " + own_address());
        config.insert(config.end(), more.begin(), more.end());
        return config;
    }

    std::string redis() const { return by_sentinels({sentinel.url()}); }

    std::vector<std::string> config;
    RedisServer primary;
    RedisServer replica;
    SentinelServer sentinel;
};

bool creates_a_key(const std::string& redis, const RedisServer& at)
{
    const auto result = ctl(redis, {"key", "create", "--json"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    const auto json = nlohmann::json::parse(result.out);
    remember_secret(json.at("key"));
    return ctl(at.url(), {"key", "show", json.at("id")}).code == 0;
}

std::string refused(const std::string& redis)
{
    const auto result = ctl(redis, {"key", "create"});
    CHECK(result.code == 4);
    CHECK(result.out.empty());
    CHECK(contains(result.err,
                   "petstorectl: cannot reach the primary \"pets\": "));
    CHECK(split(result.err, '\n').size() == 1);
    return result.err;
}

}  // namespace

TEST_CASE("command line sentinel: the primary is found")
{
    RedisServer primary;
    SentinelServer sentinel(primary);
    CHECK(creates_a_key(by_sentinels({sentinel.url()}), primary));
    CHECK(ctl(by_sentinels({sentinel.url()}), {"doctor"}).code == 0);

    // The second address is not a Sentinel.
    RedisServer other;
    CHECK(creates_a_key(
        by_sentinels({nobody(), other.tcp_url(), sentinel.url()}), primary));
    CHECK(other.command({"DBSIZE"}).integer == 0);

    // The URL's database applies to the servers, not to Sentinels.
    CHECK(ctl(by_sentinels({sentinel.url() + "/3"}), {"key", "create"}).code
          == 0);
    auto client = primary.client();
    client.command({"SELECT", "3"});
    CHECK(client.command({"DBSIZE"}).integer > 0);
}

TEST_CASE("command line sentinel: without a primary the reasons are reported")
{
    RedisServer primary;
    SentinelServer sentinel(primary);
    const auto unknown =
        ctl(by_sentinels({sentinel.url()}, "other"), {"key", "create"});
    CHECK(unknown.code == 4);
    CHECK(unknown.err
          == "petstorectl: cannot reach the primary \"other\": Sentinel "
                 + sentinel.url() + "/0 does not monitor it\n");
    const auto nowhere = nobody();
    const auto err = refused(by_sentinels({nowhere, primary.tcp_url()}));
    CHECK(contains(err, "cannot connect to Sentinel " + nowhere
                            + "/0: Connection refused; Sentinel "
                            + primary.tcp_url() + "/0: ERR unknown command"));
    CHECK(ctl(by_sentinels({primary.url()}), {"key", "list"}).code == 2);
}

TEST_CASE("command line sentinel: a command waits for the end of a failover")
{
    Replicated pair;
    REQUIRE(creates_a_key(pair.redis(), pair.primary));
    REQUIRE(wait_until([&] {
        return ctl(pair.replica.url(), {"key", "list", "--json"}).out
               == ctl(pair.primary.url(), {"key", "list", "--json"}).out;
    }));
    SECTION("of a primary that is gone")
    {
        pair.primary.kill_hard();
    }
    SECTION("of a primary that hangs")
    {
        pair.primary.pause();
    }
    CHECK(creates_a_key(pair.redis(), pair.replica));
    CHECK(pair.sentinel.primary() == pair.replica.address());
}

TEST_CASE("command line sentinel: an import does not follow a failover")
{
    Replicated pair;
    SlowImport import(pair.redis());
    std::string pets;
    for (int i = 0; i < 512; ++i) {
        pets += "{\"name\":\"p\",\"categoryId\":7}\n";
    }
    const auto last_id = [](const RedisServer& redis) {
        return redis.command({"GET", "petstore:{petstore:pets}:count"}).text;
    };
    import.write(pets);
    REQUIRE(wait_until([&] { return last_id(pair.replica) == "512"; }));
    pair.primary.kill_hard();
    import.write(pets);
    const auto err = import.failure();
    INFO(err);
    CHECK(contains(err, "imported"));
    CHECK(contains(err, "512"));
    CHECK(ctl(pair.redis(), {"pet", "import", "-"}, pets).code == 0);
    CHECK(last_id(pair.replica) == "1024");
}

TEST_CASE("command line sentinel: nothing is written to a replica")
{
    Replicated pair({"replica-read-only no"});
    FakeRedis liar(naming(own_address(), pair.replica.port()),
                   FakeRedis::Socket::tcp);
    // The next Sentinel has the right answer.
    CHECK(creates_a_key(by_sentinels({liar.url(), pair.sentinel.url()}),
                        pair.primary));
    const auto before = pair.primary.command({"DBSIZE"}).integer;
    REQUIRE(wait_until(
        [&] { return pair.replica.command({"DBSIZE"}).integer == before; }));
    CHECK(contains(refused(by_sentinels({liar.url()})),
                   pair.replica.tcp_url() + "/0 is a replica\n"));
    CHECK(pair.replica.command({"DBSIZE"}).integer == before);
}

TEST_CASE("command line sentinel: lying and hanging Sentinels are skipped")
{
    RedisServer primary;
    SentinelServer sentinel(primary);
    const auto survived = [&](const FakeRedis::Script& script) {
        FakeRedis fake(script, FakeRedis::Socket::tcp);
        CHECK(
            creates_a_key(by_sentinels({fake.url(), sentinel.url()}), primary));
        // The address, and if that is valid the run ID.
        CHECK((fake.commands() == 1 || fake.commands() == 2));
    };
    survived(naming(own_address(), free_port()));
    survived(naming("no host", 6379));
    survived(naming(own_address(), 0));
    survived(naming(own_address(), 70'000));
    survived(replying("*-1\r\n"));
    survived(replying("$-1\r\n"));
    survived(replying("*1\r\n$9\r\n127.0.0.1\r\n"));
    survived(replying("*2\r\n:1\r\n:2\r\n"));
    survived(replying("-IDONTKNOW\r\n"));
    survived(replying("nonsense\r\n"));
    survived(replying(""));
    survived([](const Words&) { return FakeRedis::Answer{"", false, true}; });

    // A Sentinel that reports a hanging server.
    RedisServer hanging;
    FakeRedis fake(naming(own_address(), hanging.port()),
                   FakeRedis::Socket::tcp);
    hanging.pause();
    CHECK(creates_a_key(by_sentinels({fake.url(), sentinel.url()}), primary));
    CHECK(creates_a_key(by_sentinels({hanging.tcp_url(), sentinel.url()}),
                        primary));
}

TEST_CASE("command line sentinel: another server at the address is not used")
{
    RedisServer primary;
    SentinelServer sentinel(primary);
    RedisServer other;
    FakeRedis outdated(
        [&other](const Words& command) -> FakeRedis::Answer {
            const auto port = std::to_string(other.port());
            if (command.size() > 1 && command[1] == "MASTER") {
                return {encode({"ip", own_address(), "port", port, "runid",
                                std::string(40, 'a')})};
            }
            return {encode({own_address(), port})};
        },
        FakeRedis::Socket::tcp);
    CHECK(
        creates_a_key(by_sentinels({outdated.url(), sentinel.url()}), primary));
    CHECK(contains(refused(by_sentinels({outdated.url()})),
                   "is another server than the Sentinel means"));
    CHECK(other.command({"DBSIZE"}).integer == 0);
}

TEST_CASE(
    "command line sentinel: a Sentinel that answers byte by byte times out")
{
    RedisServer slow;
    FaultProxy proxy(slow);
    NetworkFault fault;
    fault.slice = 1;
    fault.bytes_per_second = 10;
    proxy.set(fault);
    const auto err = refused(by_sentinels({proxy.url()}));
    INFO(err);
    CHECK(contains(err, "no answer in time"));
}

TEST_CASE("command line sentinel: credentials")
{
    RedisServer primary({"requirepass geheim-5"});
    SentinelServer sentinel(
        primary, {"requirepass geheim-6", "sentinel auth-pass pets geheim-5"});
    const auto list = [&](const std::string& password,
                          const std::string& sentinels_password) {
        auto url = sentinel.url();
        replace_all(url, "//", "//:" + sentinels_password + "@");
        const auto result =
            run({ctl_binary(), "--redis", by_sentinels({url}), "key", "list"},
                "", {{"REDISCLI_AUTH", password}});
        CHECK_FALSE(contains(result.err, "geheim"));
        return result;
    };
    CHECK(list("geheim-5", "geheim-6").code == 0);
    CHECK(contains(list("geheim-6", "geheim-6").err,
                   primary.tcp_url() + "/0: WRONGPASS"));
    CHECK(contains(list("geheim-5", "geheim-5").err,
                   "Sentinel " + sentinel.url() + "/0: WRONGPASS"));
    // The servers' password is not sent to Sentinels.
    const auto result = run({ctl_binary(), "--redis",
                             by_sentinels({sentinel.url()}), "key", "list"},
                            "", {{"REDISCLI_AUTH", "geheim-6"}});
    CHECK(contains(result.err, "Sentinel " + sentinel.url() + "/0: NOAUTH"));
}

TEST_CASE("command line sentinel: with TLS")
{
    TlsRedis redis;
    const int port = free_port();
    SentinelServer sentinel(redis.redis,
                            {"tls-port " + std::to_string(port),
                             "tls-cert-file " + redis.ca.file("server.crt"),
                             "tls-key-file " + redis.ca.file("server.key"),
                             "tls-ca-cert-file " + redis.ca.certificate(),
                             "tls-auth-clients no", "tls-replication yes"},
                            redis.port);
    const std::string url =
        "rediss://" + own_address() + ":" + std::to_string(port);
    const auto list = [&](const Words& options) {
        Words words = {ctl_binary(), "--redis", by_sentinels({url})};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"key", "list"});
        return run(words);
    };
    CHECK(list({"--cacert", redis.ca.certificate(), "--sni", TlsRedis::kName})
              .code
          == 0);
    CHECK(list({"--insecure"}).code == 0);
    const auto refused = list({"--cacert", redis.ca.certificate()});
    CHECK(refused.code == 4);
    CHECK(contains(refused.err, "Sentinel " + url
                                    + "/0: certificate does not match \""
                                    + own_address() + "\""));
    CHECK(list({}).code == 4);
}
