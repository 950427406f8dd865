// petstorectl upgrade, from a store of format 1 that is written by plain
// commands. upgrade_old.cpp has the same with the old module.
#include "chaos/cut_redis.h"
#include "support/cluster_servers.h"
#include "support/format_1.h"
#include "support/limits.h"
#include "support/two_redis.h"

#include <cstring>
#include <future>

using namespace petstore::e2e;

namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

const std::string kBusy = "accountBusy00001";
const std::string kBanned = "accountBanned001";
const std::string kIdle = "accountIdle00001";

Format1::Redis commands_of(const RedisServer& redis)
{
    return [&redis](const Words& words) { return redis.command(words); };
}

// Accounts with open windows, with a ban, and without a state; keys that differ
// from others of their account; pets.
void fill(Format1& store, long long now)
{
    const auto ms = static_cast<double>(now);
    store.add({"busyOld000000001", kBusy, "pro", "1700000000"});
    store.add({"busyOwn000000001",
               kBusy,
               "pro",
               "1700000001",
               {{"per_minute", "7"}}});
    store.add({"busyFree00000001", kBusy, "", "1700000002"});
    store.add(
        {"busyNew000000001", kBusy, "pro", "1700000003", {{"label", "Acme"}}});
    store.add({"busyOff000000001",
               kBusy,
               "business",
               "1700000009",
               {{"disabled", "1"}}});
    store.add({"bannedKey0000001",
               kBanned,
               "enterprise",
               "1700000000",
               {{"per_minute", "50"}, {"per_day", "60"}}});
    store.add({"idleKey000000001", kIdle, ""});
    store.set_state(kBusy, {0, 10, ms + 50'000, 9995, ms + 7'000'000});
    store.set_state(kBanned, {ms + 100'000, 1, ms + 50'000, 2, ms + 7'000'000});
    store.add_pets(300);
}

// The strings and hashes under a prefix, by their names without it. The same
// data of different prefixes are equal.
std::map<std::string, std::string> contents(const RedisServer& redis,
                                            const std::string& prefix)
{
    std::map<std::string, std::string> found;
    auto client = redis.client();
    for (const auto& key : client.command({"KEYS", prefix + ":*"}).items) {
        std::string name = key.text;
        replace_all(name, prefix + ":", "P:");
        const auto type = client.command({"TYPE", key.text}).text;
        std::map<std::string, std::string> fields;
        if (type == "hash") {
            const auto all = client.command({"HGETALL", key.text}).items;
            for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
                fields[all[i].text] = all[i + 1].text;
            }
        } else if (type == "set") {
            for (const auto& member :
                 client.command({"SMEMBERS", key.text}).items) {
                fields[member.text] = "";
            }
        } else if (type == "string") {
            fields[""] = client.command({"GET", key.text}).text;
        } else {
            fields[""] = client.command({"DUMP", key.text}).text;
        }
        if (contains(name, "P:account:")) {
            fields.erase("epoch");  // the time of writing
        }
        if (!contains(name, "probe")) {
            found[name] = Json(fields).dump(-1, ' ', false,
                                            Json::error_handler_t::replace);
        }
    }
    return found;
}

std::vector<double> numbers_of(const RedisServer& redis,
                               const std::string& account)
{
    const auto text =
        redis.command({"GET", "petstore:{" + account + "}:state"}).text;
    std::vector<double> numbers(text.size() / sizeof(double));
    std::memcpy(numbers.data(), text.data(), numbers.size() * sizeof(double));
    return numbers;
}

Json ctl_json(const std::string& redis, Arguments arguments)
{
    arguments.push_back("--json");
    const auto result = ctl(redis, arguments);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
}

Response get(const NginxServer& nginx, const std::string& key)
{
    return Http(nginx.url(), Format1::secret(key)).get("/v1/pets/7");
}

}  // namespace

TEST_CASE("upgrade: a store of format 1 is refused until it is upgraded")
{
    RedisServer redis;
    Format1 old(commands_of(redis));
    const auto now = redis_millis(redis);
    fill(old, now);
    const auto before = contents(redis, "petstore");

    for (const auto& command : {Arguments{"key", "list"},
                                {"key", "create"},
                                {"pet", "export"},
                                {"pet", "import", "-"},
                                {"pet", "set-status", "1", "sold"},
                                {"cache", "clear"},
                                {"limits", "return"}}) {
        INFO(command[0] << ' ' << command[1]);
        check_fails(ctl(redis.url(), command), "petstorectl upgrade");
    }
    CHECK(contents(redis, "petstore") == before);
    const auto doctor = ctl(redis.url(), {"doctor", "--json"});
    CHECK(doctor.code == 1);
    CHECK(contains(doctor.out, "\"format\""));
    CHECK(contains(doctor.out, "petstorectl upgrade"));

    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    expect_error(get(nginx, "idleKey000000001"), 503, "service_unavailable");
    CHECK(contains(nginx.error_log(), "petstorectl upgrade"));
    nginx.quit();

    CHECK(
        ctl_json(redis.url(), {"upgrade"})
        == Json(
            {{"upgraded", true}, {"accounts", 3}, {"keys", 7}, {"pets", 300}}));
    nginx.start();
    CHECK(get(nginx, "idleKey000000001").status == 200);
    CHECK(ctl_json(redis.url(), {"upgrade"}).at("upgraded") == false);
    CHECK(redis.command({"GET", "petstore:limits"}).text
          == "elsewhere-format-2");
    CHECK(redis.command({"GET", old.catalogue("last-id")}).text == "format-2");
}

TEST_CASE("upgrade: windows and bans go on")
{
    RedisServer redis;
    Format1 old(commands_of(redis));
    const auto now = redis_millis(redis);
    fill(old, now);
    REQUIRE(ctl(redis.url(), {"upgrade"}).code == 0);

    const auto ms = static_cast<double>(now);
    CHECK(numbers_of(redis, kBusy)
          == std::vector<double>{1700000000000001, 0, 10, ms + 50'000, 9995,
                                 ms + 7'000'000, 0, 0, 0, 0});
    CHECK(numbers_of(redis, kBanned)
          == std::vector<double>{1700000000000001, 0, 1, ms + 50'000, 2,
                                 ms + 7'000'000, 0, ms + 100'000, 0, 0});
    CHECK(redis.command({"PTTL", old.account_key(kBusy, "state")}).integer
          > 399LL * 86'400'000);

    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    const auto busy = rate_headers_of(get(nginx, "busyNew000000001"));
    CHECK(busy.limit == 10'000);
    CHECK(busy.remaining == 4);
    CHECK(busy.reset == (now + 7'000'000 + 999) / 1000);
    expect_error(get(nginx, "bannedKey0000001"), 429, "api_key_banned");
}

TEST_CASE("upgrade: accounts get the plan of their newest usable key")
{
    RedisServer redis;
    Format1 old(commands_of(redis));
    fill(old, redis_millis(redis));
    REQUIRE(ctl(redis.url(), {"upgrade"}).code == 0);

    const auto record = [&](const std::string& name) {
        std::map<std::string, std::string> fields;
        const auto all = redis.command({"HGETALL", name}).items;
        for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
            fields[all[i].text] = all[i + 1].text;
        }
        return fields;
    };
    using Fields = std::map<std::string, std::string>;
    auto busy = record("petstore:account:" + kBusy);
    CHECK(busy.erase("epoch") == 1);
    CHECK(busy
          == Fields{{"id", kBusy},
                    {"created", "1700000000"},
                    {"label", "Acme"},
                    {"plan", "pro"},
                    {"disabled", "0"},
                    {"implicit", "1"}});
    CHECK(record("petstore:account:" + kBanned).at("per_day") == "60");
    CHECK(record("petstore:account:" + kIdle).at("plan") == "free");
    CHECK(record("petstore:accounts")
          == Fields{{kBusy, "1700000000"},
                    {kBanned, "1700000000"},
                    {kIdle, "1700000000"}});
    CHECK(redis.command({"SCARD", "petstore:account-keys:" + kBusy}).integer
          == 5);

    const auto own = [&](const std::string& id) {
        auto fields =
            record("petstore:key:"
                   + redis.command({"HGET", "petstore:keys", id}).text);
        return std::vector<std::string>{fields["plan"], fields["per_minute"],
                                        fields["per_day"]};
    };
    using Own = std::vector<std::string>;
    CHECK(own("busyOld000000001") == Own{"", "", ""});
    CHECK(own("busyNew000000001") == Own{"", "", ""});
    CHECK(own("busyOwn000000001") == Own{"pro", "7", ""});
    CHECK(own("busyFree00000001") == Own{"free", "", ""});
    CHECK(own("busyOff000000001") == Own{"business", "", ""});
    CHECK(own("bannedKey0000001") == Own{"", "", ""});
    CHECK(own("idleKey000000001") == Own{"", "", ""});
}

TEST_CASE("upgrade: pets keep their ids, and so do idempotent creates")
{
    const std::string body = "{\"name\":\"pet 7\",\"categoryId\":70}";
    const Headers headers = {{"Idempotency-Key", "order-1"}};
    // What a create writes is the same in both formats.
    std::string digest_of_key;
    std::string digest_of_body;
    {
        Store store;
        auto client = store.client();
        REQUIRE(client.post("/v1/pets", body, headers).status == 201);
        const auto name =
            store.redis.command({"KEYS", "*:idempotency:*"}).items.at(0).text;
        digest_of_key = split(name, ':').back();
        digest_of_body =
            split(store.redis.command({"GET", name}).text, ':').at(1);
    }
    RedisServer redis;
    Format1 old(commands_of(redis));
    fill(old, redis_millis(redis));
    redis.command({"SET",
                   old.catalogue("idempotency:" + kIdle + ":" + digest_of_key),
                   "7:" + digest_of_body, "EX", "5000"});
    REQUIRE(ctl(redis.url(), {"upgrade"}).code == 0);

    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    Http http(nginx.url(), Format1::secret("idleKey000000001"));
    CHECK(http.get("/v1/pets/300").json().at("name") == "pet 300");
    CHECK(http.get("/v1/pets/301").status == 404);
    const auto replayed = http.post("/v1/pets", body, headers);
    CHECK(replayed.status == 201);
    CHECK(replayed.header("idempotent-replayed") == "true");
    CHECK(replayed.json().at("id") == 7);
    CHECK(http.post("/v1/pets", body).json().at("id") == 301);
    const auto rows = walk(http, "/v1/pets?limit=100");
    REQUIRE(rows.size() == 301);
    CHECK(rows[299].at("id") == 300);
    CHECK(walk(http, "/v1/pets?limit=100&status=sold").size() == 100);
}

TEST_CASE("upgrade: interrupted at any command and run again, it ends right")
{
    RedisServer redis;
    const auto now = redis_millis(redis);
    const auto fill_prefix = [&](const std::string& prefix) {
        Format1 old(commands_of(redis), prefix);
        fill(old, now);
    };
    const auto upgrade = [](const std::string& url, const std::string& prefix) {
        return ctl(url, {"--prefix", prefix, "upgrade"});
    };
    fill_prefix("whole");
    REQUIRE(upgrade(redis.url(), "whole").code == 0);
    const auto whole = contents(redis, "whole");

    // Each takes seconds, because it waits for commands of old versions, so
    // that many run at once.
    struct Cut {
        std::string prefix;
        std::unique_ptr<CutRedis> redis;
        std::future<Output> output;
    };
    constexpr int kAtOnce = 25;
    constexpr int kMost = 100;
    for (const auto how : {CutRedis::How::before, CutRedis::How::after}) {
        int number = 1;
        bool all_cut = true;
        while (all_cut && number < kMost) {
            std::vector<Cut> cuts(kAtOnce);
            for (auto& cut : cuts) {
                cut.prefix = (how == CutRedis::How::before ? "before" : "after")
                             + std::to_string(number);
                fill_prefix(cut.prefix);
                cut.redis = std::make_unique<CutRedis>(redis);
                cut.redis->cut_at(number++, how);
                cut.output = std::async(std::launch::async, upgrade,
                                        cut.redis->url(), cut.prefix);
            }
            for (auto& cut : cuts) {
                const auto first = cut.output.get();
                INFO(cut.prefix << ": " << first.err);
                // It survives the loss of the PING after its pause.
                CHECK((first.code == 0 || cut.redis->was_cut()));
                all_cut = all_cut && cut.redis->was_cut();
                cut.output = std::async(std::launch::async, upgrade,
                                        redis.url(), cut.prefix);
            }
            for (auto& cut : cuts) {
                const auto second = cut.output.get();
                INFO(cut.prefix << ": " << second.err);
                CHECK(second.code == 0);
                CHECK(contents(redis, cut.prefix) == whole);
            }
        }
        CHECK(number > 2 * kAtOnce);  // it has more commands than that
        CHECK(!all_cut);
    }
}

TEST_CASE("upgrade: with two Redis, both are converted")
{
    TwoRedis redis;
    Format1 old(commands_of(redis.main), commands_of(redis.limits), "petstore");
    fill(old, redis_millis(redis.limits));
    redis.main.command({"SET", "petstore:limits", "elsewhere id"});
    redis.limits.command({"SET", "petstore:limits", "here other"});
    const auto main = contents(redis.main, "petstore");

    const auto alone = ctl(redis.main.url(), {"upgrade"});
    check_fails(alone, "--limit-redis");
    CHECK(contains(alone.err, "Nothing was changed"));
    check_fails(redis.ctl({"upgrade"}), "limits of another store");
    CHECK(contents(redis.main, "petstore") == main);

    redis.limits.command({"SET", "petstore:limits", "here id"});
    check_fails(redis.ctl({"key", "list"}), "petstorectl upgrade");
    const auto upgraded = redis.ctl({"upgrade"});
    INFO(upgraded.err);
    REQUIRE(upgraded.code == 0);
    CHECK(limits_marker(redis.main) == "elsewhere");
    CHECK(limits_marker(redis.limits) == "here");
    for (const auto* one : {&redis.main, &redis.limits}) {
        CHECK(one->command({"GET", "petstore:limits"}).text
              == "elsewhere-format-2");
    }
    CHECK(numbers_of(redis.limits, kBusy).size() == 10);

    NginxServer nginx(redis.with());
    CHECK(rate_headers_of(get(nginx, "busyNew000000001")).remaining == 4);
    nginx.quit();
    // And back, with everything.
    const auto returned = redis.ctl({"limits", "return"});
    INFO(returned.err);
    REQUIRE(returned.code == 0);
    CHECK(numbers_of(redis.main, kBusy).size() == 10);
}

TEST_CASE("upgrade: a limit Redis that a store of format 2 is to use")
{
    TwoRedis redis;
    const auto key = create_key(redis.main);
    // As `limits return` of format 1 leaves it.
    redis.limits.command({"SET", "petstore:limits", "elsewhere id"});
    check_fails(redis.ctl({"limits", "move"}), "petstorectl upgrade");
    REQUIRE(redis.ctl({"upgrade"}).code == 0);
    const auto moved = redis.ctl({"limits", "move"});
    INFO(moved.err);
    CHECK(moved.code == 0);
    CHECK(limits_marker(redis.limits) == "here");
}

TEST_CASE("upgrade: damaged data stay, and are named")
{
    RedisServer redis;
    Format1 old(commands_of(redis));
    fill(old, redis_millis(redis));
    const auto digest = Format1::sha256("damaged");
    redis.command({"HSET", "petstore:key:" + digest, "id", "damagedKey000001",
                   "account", "accountDamaged01", "created", "x"});
    redis.command({"SET", old.account_key(kIdle, "state"), "x"});
    const auto upgraded = ctl(redis.url(), {"upgrade"});
    INFO(upgraded.err);
    REQUIRE(upgraded.code == 0);
    CHECK(contains(upgraded.err, "petstore:key:" + digest + " is damaged"));
    CHECK(contains(upgraded.err,
                   old.account_key(kIdle, "state") + " is damaged"));
    CHECK(redis.command({"GET", old.account_key(kIdle, "state")}).text == "x");
    // So that the key works once it is repaired.
    CHECK(redis.command({"EXISTS", "petstore:account:accountDamaged01"}).integer
          == 1);

    // The counter of pets decides what all else means.
    Format1 other(commands_of(redis), "other");
    fill(other, redis_millis(redis));
    redis.command({"SET", other.catalogue("last-id"), "x"});
    const auto before = contents(redis, "other");
    check_fails(ctl(redis.url(), {"--prefix", "other", "upgrade"}),
                other.catalogue("last-id")
                    + " is damaged; nothing was changed");
    CHECK(contents(redis, "other") == before);
    redis.command({"SET", other.catalogue("last-id"), "300"});
    CHECK(ctl(redis.url(), {"--prefix", "other", "upgrade"}).code == 0);
}

TEST_CASE("upgrade: in a Cluster")
{
    ClusterServers cluster;
    Format1 old([&](const Words& words) { return cluster.command(words); });
    fill(old, redis_millis(cluster.server(0)));
    check_fails(ctl(cluster.url(), {"key", "list"}), "petstorectl upgrade");
    const auto fence = [&] {
        return cluster.command({"GET", "petstore:limits"}).text;
    };
    const auto before = fence();
    check_fails(ctl(cluster.url_without("cluster|nodes"), {"upgrade"}),
                "cluster|nodes", 4);
    CHECK(fence() == before);
    CHECK(ctl_json(cluster.url(), {"upgrade"}).at("accounts") == 3);
    CHECK(fence() != before);
    CHECK(ctl_json(cluster.url(), {"key", "list"}).size() == 7);
    NginxOptions options;
    options.redis = cluster.url();
    NginxServer nginx(options);
    CHECK(rate_headers_of(get(nginx, "busyNew000000001")).remaining == 4);
    expect_error(get(nginx, "bannedKey0000001"), 429, "api_key_banned");
    Http http(nginx.url(), Format1::secret("idleKey000000001"));
    CHECK(http.post("/v1/pets", "{\"name\":\"a\",\"categoryId\":1}")
              .json()
              .at("id")
          == 301);
}

TEST_CASE("upgrade: the first change makes a new store one of format 2")
{
    RedisServer redis;
    CHECK(ctl_json(redis.url(), {"upgrade"}).at("upgraded") == false);
    REQUIRE(ctl(redis.url(), {"key", "list"}).code == 0);
    CHECK(redis.command({"DBSIZE"}).integer == 0);
    Monitor monitor(redis);
    REQUIRE(ctl(redis.url(), {"key", "create"}).code == 0);
    std::string first;
    for (const auto& command : monitor.commands()) {
        if (first.empty() && command.name != "GET" && command.name != "EXISTS"
            && command.name != "INFO" && command.name != "HELLO"
            && command.name != "AUTH" && command.name != "SELECT"
            && command.name != "PING" && command.name != "CLIENT"
            && command.name != "ROLE" && command.name != "COMMAND") {
            first = command.line;
        }
    }
    CHECK(
        contains(first, "\"SET\" \"petstore:limits\" \"elsewhere-format-2\""));

    RedisServer pets;
    import_pets(pets, 1);
    CHECK(pets.command({"GET", "petstore:limits"}).text
          == "elsewhere-format-2");
}

TEST_CASE("upgrade: keys or pets of format 1 alone need it")
{
    RedisServer redis;
    Format1 old(commands_of(redis));
    SECTION("pets")
    {
        old.add_pets(3);
    }
    SECTION("keys, beside pets that a new worker has created")
    {
        old.add({"idleKey000000001", "account000000001", "free"});
        redis.command({"SET", old.catalogue("last-id"), "format-2"});
        redis.command({"SET", old.catalogue("changes"), "1700000000000000"});
    }
    check_fails(ctl(redis.url(), {"key", "list"}), "petstorectl upgrade");
}
