// docs/petstorectl.md, "Keys": creating, storing and changing keys.
#include <algorithm>
#include <ctime>
#include <regex>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

bool all_say(std::vector<Http>& workers, const std::string& secret, int status)
{
    return std::all_of(workers.begin(), workers.end(), [&](Http& worker) {
        worker.use_key(secret);
        return worker.get("/v1/pets?limit=1").status == status;
    });
}

std::string in_seconds(int seconds)
{
    const std::time_t time = unix_time() + seconds;
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
    return text;
}

// A key that every worker has used before its end.
struct ExpiringKey {
    explicit ExpiringKey(int seconds)
        : deadline(Clock::now() + std::chrono::seconds(seconds + 1)),
          key(create_key(hosts.redis, {"--plan", "business", "--expires",
                                       in_seconds(seconds)}))
    {
        CHECK(all_say(workers, key.secret, 200));
    }

    const Hosts hosts{1};
    const Clock::time_point deadline;  // a second after its end
    const Key key;
    std::vector<Http> workers = one_per_worker(hosts);
};

}  // namespace

TEST_CASE("keys: have the specified form")
{
    RedisServer redis;
    const auto one = create_key(redis);
    const auto two = create_key(redis);
    const std::regex form("petstore_[0-9A-Za-z]{43}[0-9A-Za-z]{6}");
    CHECK(std::regex_match(one.secret, form));
    CHECK(std::regex_match(two.secret, form));
    CHECK(one.secret != two.secret);
    CHECK(one.id != two.id);
    CHECK(one.account != two.account);

    // Redis stores only the digest: no name or value contains the key. (The
    // harness searches Redis's files for every key used by the tests.)
    for (const auto& name : redis.command({"KEYS", "*"}).items) {
        CHECK_FALSE(contains(name.text, one.secret));
        CHECK_FALSE(contains(name.text, one.secret.substr(9, 43)));
    }
}

TEST_CASE("keys: list and show print everything except the key")
{
    RedisServer redis;
    const auto key = create_key(
        redis, {"--plan", "pro", "--label", "acme", "--scopes", "read"});
    for (const auto& arguments :
         {std::vector<std::string>{"key", "list", "--json"},
          std::vector<std::string>{"key", "show", key.id, "--json"},
          std::vector<std::string>{"key", "list"},
          std::vector<std::string>{"key", "show", key.id}}) {
        const auto output = ctl(redis.url(), arguments);
        CHECK(output.code == 0);
        CHECK_FALSE(contains(output.out + output.err, key.secret));
        CHECK(contains(output.out, key.id));
    }
    const auto json = nlohmann::json::parse(
        ctl(redis.url(), {"key", "show", key.id, "--json"}).out);
    CHECK(json.at("id") == key.id);
    CHECK(json.at("account") == key.account);
    CHECK(json.at("plan") == "pro");
    CHECK(json.at("label") == "acme");
    CHECK(json.at("disabled") == false);
    CHECK(json.at("last4") == key.secret.substr(key.secret.size() - 4));
    CHECK_FALSE(json.contains("key"));
}

TEST_CASE("keys: changes take effect on every worker within a second")
{
    const Hosts hosts(2);
    const auto& redis = hosts.redis;
    const auto key = create_key(redis);
    auto workers = one_per_worker(hosts);
    CHECK(all_say(workers, key.secret, 200));

    for (int round = 0; round < 2; ++round) {
        REQUIRE(ctl(redis.url(), {"key", "disable", key.id}).code == 0);
        CHECK(within_a_second(workers, key.secret, 401, "invalid_api_key"));
        REQUIRE(ctl(redis.url(), {"key", "enable", key.id}).code == 0);
        CHECK(within_a_second(workers, key.secret, 200));
    }
    REQUIRE(ctl(redis.url(), {"key", "delete", key.id}).code == 0);
    CHECK(within_a_second(workers, key.secret, 401, "invalid_api_key"));
    CHECK(ctl(redis.url(), {"key", "show", key.id}).code != 0);
}

TEST_CASE("keys: expire on time")
{
    ExpiringKey expiring(10);
    CHECK(kept_by(expiring.deadline, [&] {
        return all_say(expiring.workers, expiring.key.secret, 401);
    }));
}

TEST_CASE("keys: a later end applies where the earlier one is remembered")
{
    ExpiringKey expiring(8);
    REQUIRE(ctl(expiring.hosts.redis.url(),
                {"key", "set", expiring.key.id, "--expires", "1d"})
                .code
            == 0);
    CHECK(wait_until([&] { return Clock::now() > expiring.deadline; }));
    // The first request of each worker since then.
    CHECK(all_say(expiring.workers, expiring.key.secret, 200));
}

TEST_CASE("keys: an unknown key works as soon as it is created")
{
    const Hosts hosts(1);
    const std::string future = "an-imported-key-of-tomorrow";
    remember_secret(future);
    auto workers = one_per_worker(hosts);
    CHECK(all_say(workers, future, 401));
    import_key(hosts.redis, future);
    CHECK(within_a_second(workers, future, 200));
}

TEST_CASE("keys: imported keys may have any visible characters")
{
    Store store;
    for (const std::string& secret :
         {std::string("eightish"), std::string(512, 'k'),
          std::string("sk_live_51H8~!@#$%^&*()-=[]{}|;:',.<>/?`\"\\"),
          "other_" + std::string(49, '0')}) {
        INFO(secret);
        import_key(store.redis, secret);
        Http http(store.nginx.url(), secret);
        expect_json(http.get("/v1/pets"), 200, "[]");
    }
}

TEST_CASE("keys: a malformed key costs no Redis command")
{
    Store store;
    CHECK(store.http.get("/v1/pets").status == 200);
    Monitor monitor(store.redis);
    Http anyone(store.nginx.url());
    std::string mistyped = store.key.secret;
    mistyped[20] = mistyped[20] == 'a' ? 'b' : 'a';
    for (const std::string& secret :
         {mistyped, std::string(513, 'x'), std::string("two words"),
          std::string("caf\xC3\xA9")}) {
        CHECK(anyone.get("/v1/pets", {{"Authorization", "Bearer " + secret}})
                  .status
              == 401);
    }
    CHECK(anyone.get("/v1/pets").status == 401);
    CHECK(monitor.names().empty());
}

TEST_CASE("keys: scopes allow reading and writing separately")
{
    Store store;
    import_pets(store.redis, 1);
    const auto reader =
        create_key(store.redis, {"--plan", "pro", "--scopes", "read"});
    const auto writer =
        create_key(store.redis, {"--plan", "pro", "--scopes", "write"});
    const std::string body = "{\"name\":\"n\",\"categoryId\":1}";
    Http reads(store.nginx.url(), reader.secret);
    Http writes(store.nginx.url(), writer.secret);
    CHECK(reads.get("/v1/pets").status == 200);
    CHECK(reads.get("/v1/pets/1").status == 200);
    expect_error(reads.post("/v1/pets", body), 403, "insufficient_scope");
    CHECK(writes.post("/v1/pets", body).status == 201);
    expect_error(writes.get("/v1/pets"), 403, "insufficient_scope");
    expect_error(writes.get("/v1/pets/1"), 403, "insufficient_scope");
    CHECK(writes.request("OPTIONS", "/v1/pets").status == 204);
    expect_error(reads.get("/v1/nowhere"), 404, "not_found");
    CHECK(walk(store.http, "/v1/pets").size() == 2);
}

TEST_CASE("keys: keys of another prefix are not valid")
{
    NginxOptions options;
    options.servers = R"(server { listen %ADDRESS%:%TLS_PORT%;
        location /v1/ { petstore; petstore_prefix staging; } })";
    Store store(options);
    Http production(store.nginx.url());
    Http staging(http_url(store.nginx.tls_port()));
    const auto made =
        ctl(store.redis.url(), {"--prefix", "staging", "key", "create",
                                "--plan", "pro", "--json"});
    REQUIRE(made.code == 0);
    const std::string secret = nlohmann::json::parse(made.out).at("key");
    remember_secret(secret);
    CHECK(secret.rfind("staging_", 0) == 0);

    const Headers theirs = {{"Authorization", "Bearer " + secret}};
    const Headers ours = {{"Authorization", "Bearer " + store.key.secret}};
    CHECK(staging.get("/v1/pets", theirs).status == 200);
    CHECK(staging.get("/v1/pets", ours).status == 401);
    CHECK(production.get("/v1/pets", ours).status == 200);
    CHECK(production.get("/v1/pets", theirs).status == 401);
    // The pets are separate, too.
    CHECK(staging.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}", theirs)
              .status
          == 201);
    CHECK(production.get("/v1/pets", ours).body == "[]");
}
