// A Redis that becomes a replica and a primary again, or whose data are
// replaced, without closing its connections.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "support/replicas.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";
const char* const kOther = "{\"name\":\"other\",\"categoryId\":7}\n";

// Timeouts that even a busy machine does not reach, because tests count log
// lines.
NginxOptions patient_options(const std::string& redis)
{
    NginxOptions options;
    options.redis = redis;
    options.location =
        "petstore_redis_timeout 10s; petstore_redis_connect_timeout 10s;";
    return options;
}

// Two histories: `second` is a copy of `first` without the fourth pet. A worker
// may have read that, "Rex", from `first`.
struct Fork {
    RedisServer first{kReplicated};
    RedisServer second{kReplicated};
    Key key = create_key(first);

    Fork()
    {
        import_pets(first, 3);
        follow(second, first);
        promote(second);
    }

    // Makes `first` a replica of `second` and then a primary again, with the
    // data of `second` and another fourth pet.
    void fail_back() const
    {
        follow(first, second);
        promote(first);
        create_other(first.url());
    }

    static void create_other(const std::string& url)
    {
        REQUIRE(ctl(url, {"pet", "import", "-"}, kOther).code == 0);
    }
};

// The ids of clients other than the harness and other Redis servers.
std::vector<std::string> connections_of_nginx(const RedisServer& redis)
{
    std::vector<std::string> ids;
    for (const auto& line :
         split(redis.command({"CLIENT", "LIST"}).text, '\n')) {
        if ((contains(line, " flags=N ") || contains(line, " flags=U "))
            && !contains(line, "cmd=client")) {
            ids.push_back(line.substr(0, line.find(' ')));
        }
    }
    return ids;
}

// Creates a fourth pet, and reads it in every way, often enough for all caches
// to keep it. Returns its path.
std::string remember_rex(Http& http)
{
    const auto path = http.post("/v1/pets", kPet).header("location");
    for (int i = 0; i < 3; ++i) {
        CHECK(http.get(path).json()["name"] == "Rex");
        CHECK(http.get("/v1/pets").json()[3]["name"] == "Rex");
        CHECK(http.get("/v1/pets?status=available").json()[1]["name"] == "Rex");
    }
    return path;
}

// The same where ids are consecutive.
void remember_pet_4(Http& http)
{
    REQUIRE(remember_rex(http) == "/v1/pets/4");
}

void pass(std::chrono::milliseconds time)
{
    const auto end = Clock::now() + time;
    wait_until([&] { return Clock::now() >= end; }, time + 1s);
}

std::string name_of_pet_4(Http& http, const std::string& path)
{
    const auto response = http.get(path);
    CHECK(response.status == 200);
    const auto json = response.json();
    if (json.is_array()) {
        return json.empty() ? "" : json.back().value("name", "");
    }
    return json.value("name", "");
}

const std::vector<std::string> kPathsOfPet4 = {"/v1/pets/4", "/v1/pets",
                                               "/v1/pets?status=available"};

// Rex was lost in the failover. Its id names no other pet, but lists have
// another one in its place.
void check_undone(Http& http, const std::string& rex)
{
    CHECK(http.get(rex).status == 404);
    CHECK(name_of_pet_4(http, "/v1/pets") == "other");
    CHECK(name_of_pet_4(http, "/v1/pets?status=available") == "other");
}

std::size_t lines_with(const NginxServer& nginx, const std::string& text)
{
    const auto lines = split(nginx.error_log(), '\n');
    return static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return contains(line, text);
        }));
}

bool recovers(Http& http)
{
    return wait_until([&] { return http.get("/v1/pets").status == 200; });
}

// Redis's keys, with values in the format of RESTORE.
std::vector<std::pair<std::string, std::string>> dump(const RedisServer& redis)
{
    std::vector<std::pair<std::string, std::string>> dumped;
    for (const auto& name : redis.command({"KEYS", "*"}).items) {
        dumped.emplace_back(name.text, redis.command({"DUMP", name.text}).text);
    }
    return dumped;
}

void restore(const RedisServer& redis,
             const std::vector<std::pair<std::string, std::string>>& dumped,
             const std::string& database = "0")
{
    auto client = redis.client();
    client.command({"SELECT", database});
    for (const auto& [name, bytes] : dumped) {
        REQUIRE(client.command({"RESTORE", name, "0", bytes}).text == "OK");
    }
}

}  // namespace

TEST_CASE("failover: an idle connection serves no data that the failover undid")
{
    // Of the first response.
    const std::string list =
        GENERATE("", "/v1/pets", "/v1/pets?status=available");
    INFO(list);
    const Fork redis;
    NginxServer nginx(patient_options(redis.first.url()));
    Http http(nginx.url(), redis.key.secret);
    const auto rex = remember_rex(http);
    const auto connections = connections_of_nginx(redis.first);
    REQUIRE(connections.size() == 1);

    pass(1100ms);
    redis.fail_back();
    // Already the first response is right.
    if (list.empty()) {
        CHECK(http.get(rex).status == 404);
    } else {
        CHECK(name_of_pet_4(http, list) == "other");
    }
    CHECK(connections_of_nginx(redis.first) == connections);
    CHECK(lines_with(nginx, "replication ID changed") == 1);
    CHECK(lines_with(nginx, "[error]") == 0);
    check_undone(http, rex);
}

TEST_CASE("failover: is noticed within a second under load")
{
    const Fork redis;
    NginxServer nginx(patient_options(redis.first.url()));
    Http http(nginx.url(), redis.key.secret);
    const auto rex = remember_rex(http);

    // Both role changes fit into the second for which a worker trusts its last
    // check, so the connection survives; on a slow machine they take longer.
    redis.fail_back();
    const auto done = Clock::now();
    while (Clock::now() < done + 1010ms) {
        const auto status = http.get(rex).status;
        CHECK((status == 200 || status == 404 || status == 503));
    }
    REQUIRE(recovers(http));
    for (int i = 0; i < 20; ++i) {
        check_undone(http, rex);
    }
}

TEST_CASE("failover: a replica is not used and named in the log")
{
    const Fork redis;
    NginxServer nginx(patient_options(redis.first.url()));
    Http http(nginx.url(), redis.key.secret);
    const auto rex = remember_rex(http);
    follow(redis.first, redis.second);
    // Nothing is served from memory either.
    pass(1010ms);
    for (int i = 0; i < 20; ++i) {
        CHECK(http.get(rex).status == 503);
    }
    CHECK(lines_with(nginx, ": is a replica") == 1);
    CHECK(lines_with(nginx, "is back") == 0);
    promote(redis.first);
    CHECK(recovers(http));
    CHECK(http.get(rex).status == 404);
    CHECK(lines_with(nginx, "is back") == 1);
    CHECK(lines_with(nginx, "[error]") == 1);
}

TEST_CASE("failover: cache clear after FLUSHALL and RESTORE")
{
    Store store;
    import_pets(store.redis, 3);
    const auto backup = dump(store.redis);
    remember_pet_4(store.http);

    store.redis.command({"FLUSHALL"});
    restore(store.redis, backup);
    Fork::create_other(store.redis.url());
    const auto cleared = ctl(store.redis.url(), {"cache", "clear"});
    CHECK(cleared.code == 0);
    CHECK_FALSE(cleared.err.empty());
    CHECK(cleared.out.empty());
    for (const auto& path : kPathsOfPet4) {
        CHECK(name_of_pet_4(store.http, path) == "other");
    }
}

TEST_CASE("failover: cache clear after SWAPDB")
{
    Store store;
    import_pets(store.redis, 3);
    restore(store.redis, dump(store.redis), "1");
    Fork::create_other(store.redis.url() + "?db=1");
    remember_pet_4(store.http);

    store.redis.command({"SWAPDB", "0", "1"});
    const auto cleared = ctl(store.redis.url(), {"--json", "cache", "clear"});
    CHECK(cleared.code == 0);
    CHECK(nlohmann::json::parse(cleared.out)
          == nlohmann::json{{"cleared", true}});
    for (const auto& path : kPathsOfPet4) {
        CHECK(name_of_pet_4(store.http, path) == "other");
    }
}

TEST_CASE("failover: cache clear leaves a Redis without pets as it is")
{
    Store store;
    const auto cleared = ctl(store.redis.url(), {"cache", "clear", "--json"});
    CHECK(cleared.code == 0);
    CHECK(nlohmann::json::parse(cleared.out)
          == nlohmann::json{{"cleared", false}});
    CHECK(store.redis.command({"KEYS", "*:pets}:*"}).items.empty());
    CHECK(store.http.post("/v1/pets", kPet).status == 201);
    const RedisServer empty;
    CHECK(ctl(empty.url(), {"cache", "clear"}).code == 0);
    CHECK(empty.command({"DBSIZE"}).integer == 0);
}

TEST_CASE("failover: a Redis that forbids INFO works, with one warning")
{
    RedisServer redis;
    // The rules of docs/redis-keys.md from before workers used INFO.
    redis.command({"ACL",          "SETUSER",   "petstore",    "on",
                   ">pw",          "resetkeys", "~petstore:*", "resetchannels",
                   "-@all",        "+ping",     "+select",     "+eval",
                   "+evalsha",     "+time",     "+mget",       "+get",
                   "+set",         "+getrange", "+setrange",   "+incr",
                   "+incrby",      "+hincrby",  "+del",        "+pexpire",
                   "+pexpiretime", "+hgetall",  "+lindex",     "+lrange",
                   "+lset",        "+rpush",    "+rpop",       "+setbit",
                   "+bitpos",      "+hscan",    "+hset",       "+hdel",
                   "+hrandfield"});
    const auto key = create_key(redis);
    NginxServer nginx(
        patient_options("redis://petstore:pw@" + redis.tcp_url().substr(8)));
    Http http(nginx.url(), key.secret);
    for (int round = 0; round < 3; ++round) {
        CHECK(http.post("/v1/pets", kPet).status == 201);
        CHECK(http.get("/v1/pets").status == 200);
        CHECK(http.get("/v1/pets?status=available").status == 200);
        pass(1010ms);
        CHECK(http.get("/v1/pets/1").status == 200);
        redis.command({"CLIENT", "KILL", "USER", "petstore"});
    }
    CHECK(lines_with(nginx, "[warn]") == 1);
    CHECK(lines_with(nginx, "does not report its replication role (NOPERM)")
          == 1);
    CHECK(lines_with(nginx, "[error]") == 0);
    // INFO is sent once per connection.
    CHECK(contains(redis.command({"INFO", "commandstats"}).text,
                   "cmdstat_info:"));
}

TEST_CASE(
    "failover: READONLY closes the connection, and reconnecting is no recovery")
{
    RedisServer redis;
    const auto key = create_key(redis);
    std::atomic<bool> read_only{false};
    const bool tells_role = GENERATE(true, false);
    auto forward = forward_to(redis);
    FakeRedis fake([&](const Words& command) {
        if (command[0] == "INFO" && !tells_role) {
            return FakeRedis::Answer{"-NOPERM this user may not\r\n"};
        }
        if (read_only && command[0] == "EVALSHA") {
            return FakeRedis::Answer{
                "-READONLY You can't write against a read only replica.\r\n"};
        }
        return forward(command);
    });
    NginxServer nginx(patient_options(fake.url()));
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);

    read_only = true;
    const int connections = fake.connections();
    // An unknown key is looked up, which a replica allows.
    int answered = 0;
    const bool reconnected = wait_until([&] {
        answered += http.get("/v1/pets").status != 503;
        const auto stranger =
            Http(nginx.url(), "a-strange-key").get("/v1/pets").status;
        answered += stranger != 401 && stranger != 503;
        return fake.connections() > connections + 3;
    });
    CHECK(reconnected);
    CHECK(answered == 0);
    CHECK(lines_with(nginx, ": is a replica, answered with READONLY") == 1);
    CHECK(lines_with(nginx, "is back") == 0);

    read_only = false;
    CHECK(recovers(http));
    int failed = 0;
    const bool back = wait_until([&] {
        failed += http.get("/v1/pets").status != 200;
        return lines_with(nginx, "is back") == 1;
    });
    CHECK(back);
    CHECK(failed == 0);
    CHECK(lines_with(nginx, "[error]") == 1);
}

namespace {

// A primary and a replica on the same port, and a host name that has both
// addresses.
struct TwoAddresses {
    static constexpr char kHost[] = "redis.petstore.test";
    static constexpr char kSecondHost[] = "127.77.0.2";

    RedisServer primary{kReplicated};
    RedisServer replica{kReplicated};
    const std::string port = split(primary.address(), ':').at(1);
    const std::string second = std::string(kSecondHost) + ":" + port;
    const Key key = create_key(primary);

    TwoAddresses()
    {
        follow(replica, primary);
        REQUIRE(replica.command({"CONFIG", "SET", "bind", kSecondHost}).text
                == "OK");
        REQUIRE(replica.command({"CONFIG", "SET", "port", port}).text == "OK");
    }

    NginxOptions options(bool primary_first) const
    {
        auto options =
            patient_options(std::string("redis://") + kHost + ":" + port);
        options.env = host_with_addresses(
            kHost, primary_first
                       ? std::vector<std::string>{own_address(), kSecondHost}
                       : std::vector<std::string>{kSecondHost, own_address()});
        return options;
    }
};

}  // namespace

TEST_CASE("failover: the primary's address is used from the first request on")
{
    const TwoAddresses redis;
    NginxServer nginx(redis.options(GENERATE(true, false)));
    Http http(nginx.url(), redis.key.secret);
    for (int i = 0; i < 20; ++i) {
        CHECK(http.post("/v1/pets", kPet).status == 201);
    }
    CHECK(lines_with(nginx, "[error]") == 0);
    CHECK(lines_with(nginx, "is back") == 0);
}

TEST_CASE("failover: a timeout does not move a worker to a replica")
{
    const TwoAddresses redis;
    auto options = redis.options(true);
    options.location =
        "petstore_redis_timeout 5s; petstore_redis_connect_timeout 10s;";
    NginxServer nginx(options);
    Http http(nginx.url(), redis.key.secret);
    CHECK(http.post("/v1/pets", kPet).status == 201);

    redis.primary.pause();
    CHECK(http.get("/v1/pets").status == 503);
    redis.primary.resume();
    CHECK(recovers(http));
    for (int i = 0; i < 50; ++i) {
        CHECK(http.post("/v1/pets", kPet).status == 201);
    }
    CHECK(lines_with(nginx, ": timed out") == 1);
    CHECK(lines_with(nginx, "[error]") == 1);
    CHECK(lines_with(nginx, "is back") == 1);
}

TEST_CASE("failover: a worker follows the primary to another address")
{
    const TwoAddresses redis;
    NginxServer nginx(redis.options(true));
    Http http(nginx.url(), redis.key.secret);
    CHECK(http.post("/v1/pets", kPet).header("location") == "/v1/pets/1");
    long long last = 1;
    CHECK(wait_until([&] {
        return redis.replica
                   .command({"EXISTS", "petstore:{petstore:pets}:count"})
                   .integer
               == 1;
    }));

    for (int round = 0; round < 2; ++round) {
        const auto& to = round == 0 ? redis.replica : redis.primary;
        const auto& from = round == 0 ? redis.primary : redis.replica;
        promote(to);
        follow(from, round == 0 ? redis.second : redis.primary.address());
        Response created;
        CHECK(wait_until([&] {
            created = http.post("/v1/pets", kPet);
            return created.status == 201;
        }));
        // Ids continue from Redis's clock.
        const auto id = std::stoll(created.header("location").substr(9));
        CHECK(id > std::max(last, 1'000'000'000'000'000LL));
        last = id;
        int failed = 0;
        const bool back = wait_until([&] {
            failed += http.get("/v1/pets").status != 200;
            return lines_with(nginx, "is back") == round + 1u;
        });
        CHECK(back);
        CHECK(failed == 0);
    }
    CHECK(lines_with(nginx, ": is a replica") == 2);
    CHECK(lines_with(nginx, "[error]") == 2);
}

namespace {

// A proxy in front of Redis with a configurable reply to INFO.
struct StrangeInfo {
    RedisServer redis;
    Key key = create_key(redis);
    std::mutex mutex;
    std::string reply;  // empty: Redis's own
    FakeRedis::Script forward = forward_to(redis);
    FakeRedis fake{[this](const Words& command) {
        const std::lock_guard lock(mutex);
        return reply.empty() || command[0] != "INFO" ? forward(command)
                                                     : FakeRedis::Answer{reply};
    }};

    void set_reply(const std::string& text)
    {
        const std::lock_guard lock(mutex);
        reply = text;
    }

    NginxOptions options() const { return patient_options(fake.url()); }
};

void check_answers(Http& http)
{
    for (int request = 0; request < 3; ++request) {
        const auto status = http.get("/v1/pets").status;
        // 500: a surplus reply is taken for the next command's, which looks
        // like damage.
        CHECK((status == 200 || status == 500 || status == 503));
    }
}

}  // namespace

TEST_CASE("failover: a server that comes back as a replica is named in the log")
{
    StrangeInfo redis;
    NginxServer nginx(redis.options());
    Http http(nginx.url(), redis.key.secret);
    CHECK(http.get("/v1/pets").status == 200);

    redis.fake.drop(true);
    CHECK(wait_until([&] {
        return http.get("/v1/pets").status == 503
               && lines_with(nginx, "[error]") == 1;
    }));
    const int connections = redis.fake.connections();
    redis.set_reply("$11\r\nrole:slave\n\r\n");
    redis.fake.accept_again();
    CHECK(wait_until([&] {
        return http.get("/v1/pets").status == 503
               && redis.fake.connections() >= connections + 3;
    }));
    CHECK(lines_with(nginx, ": is a replica") == 1);
    CHECK(lines_with(nginx, "[error]") == 2);
    CHECK(lines_with(nginx, "is back") == 0);

    redis.set_reply("");
    CHECK(recovers(http));
    CHECK(lines_with(nginx, "is back") == 1);
}

TEST_CASE("failover: nonsense in reply to INFO of a handshake")
{
    StrangeInfo redis;
    NginxServer nginx(redis.options());
    Http http(nginx.url(), redis.key.secret);
    for (const std::string& nonsense : std::vector<std::string>{
             ":1\r\n",
             "+OK\r\n",
             "$-1\r\n",
             "*-1\r\n",
             "*2\r\n$4\r\nrole\r\n$6\r\nmaster\r\n",
             "$0\r\n\r\n",
             "$4\r\nrole\r\n",
             "$12\r\nrole:master\n\r\n",
             "$27\r\nrole:master\nmaster_replid:1\r\n",
             "-\r\n",
             "-ERR unknown command\r\n",
             "-BUSY Redis is busy running a script.\r\n",
             "-READONLY no\r\n",
             "$1000001\r\n" + std::string(1000000, ':') + "\n\r\n",
             "$11\r\nrole:slave\n\r\n",
             "+OK\r\n+OK\r\n",
             "nonsense\r\n",
         }) {
        INFO(nonsense.substr(0, 60));
        redis.set_reply(nonsense);
        redis.fake.drop();
        check_answers(http);
        redis.set_reply("");
        REQUIRE(recovers(http));
    }
}

TEST_CASE("failover: nonsense in reply to INFO of a connection in use")
{
    StrangeInfo redis;
    NginxServer nginx(redis.options());
    Http http(nginx.url(), redis.key.secret);
    for (const std::string& nonsense : std::vector<std::string>{
             "$4\r\nrole\r\n",
             "-BUSY Redis is busy running a script.\r\n",
             "$1000001\r\n" + std::string(1000000, ':') + "\n\r\n",
             "$11\r\nrole:slave\n\r\n",
             "+OK\r\n+OK\r\n",
             "nonsense\r\n",
         }) {
        INFO(nonsense.substr(0, 60));
        redis.fake.drop();
        redis.set_reply("");
        REQUIRE(recovers(http));
        redis.set_reply(nonsense);
        pass(1010ms);
        check_answers(http);
    }
}
