// docs/limits.md, "Changes by the operator": they take effect on every worker
// of every host within a second. Rotation restores no requests and lifts no
// ban.
#include "support/limits.h"

using namespace petstore::e2e;

namespace {

// Three hosts with two workers each, a connection to every worker, and a key.
struct Team {
    explicit Team(long long per_minute, const std::string& ban = "off")
        : hosts(3, with_ban(ban)), key(limited_key(hosts.redis, per_minute)),
          clients(one_per_worker(hosts))
    {
        REQUIRE(clients.size() == 6);
        for (auto& client : clients) {
            client.use_key(key.secret);
        }
    }

    static NginxOptions with_ban(const std::string& ban)
    {
        NginxOptions options;
        options.location = "petstore_ban " + ban + ";";
        return options;
    }

    // Sends requests until all workers refuse from memory, with this code.
    void use_up(const std::string& code = "rate_limit_exceeded")
    {
        REQUIRE(wait_until(
            [&] { return code_of(clients[0].get("/v1/pets")) == code; }));
        REQUIRE(within(key, 429, code));
    }

    nlohmann::json run(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), "key");
        arguments.push_back("--json");
        const auto result = ctl(hosts.redis.url(), arguments);
        INFO(result.err);
        REQUIRE(result.code == 0);
        return nlohmann::json::parse(result.out);
    }

    Key rotate(const std::string& grace) { return rotate(key, grace); }

    Key rotate(const Key& old, const std::string& grace)
    {
        const auto json = run({"rotate", old.id, "--grace", grace});
        remember_secret(json.at("key"));
        return {json.at("key"), json.at("id"), json.at("account")};
    }

    bool within(const Key& asked, int status, const std::string& code = "")
    {
        return within_a_second(clients, asked.secret, status, code);
    }

    Hosts hosts;
    Key key;
    std::vector<Http> clients;
};

}  // namespace

TEST_CASE("limits operator: a key is deleted while it is admitted")
{
    Team team(1'000'000);
    REQUIRE(team.within(team.key, 200));
    team.run({"delete", team.key.id});
    CHECK(team.within(team.key, 401, "invalid_api_key"));
}

TEST_CASE("limits operator: a key is deleted while it is over its limit")
{
    Team team(5);
    team.use_up();
    team.run({"delete", team.key.id});
    CHECK(team.within(team.key, 401, "invalid_api_key"));
}

TEST_CASE("limits operator: a key is deleted while it is banned")
{
    Team team(5, "threshold=10");
    team.use_up("api_key_banned");
    team.run({"delete", team.key.id});
    CHECK(team.within(team.key, 401, "invalid_api_key"));
}

TEST_CASE("limits operator: a key is disabled and enabled")
{
    Team team(1'000'000);
    REQUIRE(team.within(team.key, 200));
    team.run({"disable", team.key.id});
    CHECK(team.within(team.key, 401, "invalid_api_key"));
    team.run({"enable", team.key.id});
    CHECK(team.within(team.key, 200));
}

TEST_CASE("limits operator: a key is disabled and enabled while over its limit")
{
    Team team(5);
    team.use_up();
    team.run({"disable", team.key.id});
    CHECK(team.within(team.key, 401, "invalid_api_key"));
    team.run({"enable", team.key.id});
    // No requests were restored.
    CHECK(team.within(team.key, 429, "rate_limit_exceeded"));
    CHECK(used(team.hosts.redis, team.key, "day") == 5);
}

TEST_CASE("limits operator: more requests for a key over its limit")
{
    Team team(5);
    team.use_up();
    team.run({"set", team.key.id, "--plan", "business", "--per-minute", "none",
              "--per-day", "none"});
    const auto counted = used(team.hosts.redis, team.key, "minute");
    CHECK(counted == 5);
    CHECK(within_a_second(
        team.clients, team.key.secret, [](const Response& response) {
            return response.status == 200
                   && response.header("x-ratelimit-limit") == "1000";
        }));
    // The window continues with its used requests.
    const auto now_used = used(team.hosts.redis, team.key, "minute");
    const auto next = rate_headers_of(team.clients[0].get("/v1/pets"));
    CHECK(next.remaining == 1000 - now_used - 1);
    CHECK(used(team.hosts.redis, team.key, "day") == now_used + 1);

    // A lower limit: used requests count against it.
    team.run({"set", team.key.id, "--per-minute", "3"});
    CHECK(team.within(team.key, 429, "rate_limit_exceeded"));
    CHECK(rate_headers_of(team.clients[3].get("/v1/pets")).limit == 3);
}

TEST_CASE("limits operator: rotation with grace shares one budget")
{
    Team team(100);
    for (int i = 0; i < 40; ++i) {
        REQUIRE(
            team.clients[static_cast<std::size_t>(i % 6)].get("/v1/pets").status
            == 200);
    }
    const auto fresh = team.rotate("1h");
    CHECK(fresh.account == team.key.account);
    CHECK(fresh.secret != team.key.secret);

    auto& http = team.clients[4];
    http.use_key(fresh.secret);
    CHECK(rate_headers_of(http.get("/v1/pets")).remaining == 59);
    http.use_key(team.key.secret);
    CHECK(rate_headers_of(http.get("/v1/pets")).remaining == 58);
    // Both keys together use up the rest.
    for (int i = 0; i < 58; ++i) {
        auto& client = team.clients[static_cast<std::size_t>(i % 6)];
        client.use_key(i % 2 ? fresh.secret : team.key.secret);
        REQUIRE(client.get("/v1/pets").status == 200);
    }
    for (auto& client : team.clients) {
        for (const auto& secret : {fresh.secret, team.key.secret}) {
            client.use_key(secret);
            expect_error(client.get("/v1/pets"), 429, "rate_limit_exceeded");
        }
    }
    CHECK(used(team.hosts.redis, team.key, "minute") == 100);

    // A rotation restores no requests.
    const auto third = team.rotate(fresh, "1h");
    CHECK(team.within(third, 429, "rate_limit_exceeded"));
    CHECK(used(team.hosts.redis, team.key, "minute") == 100);
}

TEST_CASE("limits operator: rotation without grace ends the old key")
{
    Team team(1'000'000);
    REQUIRE(team.within(team.key, 200));
    const auto fresh = team.rotate("0");
    CHECK(team.within(team.key, 401, "invalid_api_key"));
    CHECK(team.within(fresh, 200));
}

TEST_CASE("limits operator: rotation without grace while over the limit")
{
    Team team(5);
    team.use_up();
    const auto fresh = team.rotate("0");
    CHECK(team.within(team.key, 401, "invalid_api_key"));
    CHECK(team.within(fresh, 429, "rate_limit_exceeded"));
    CHECK(used(team.hosts.redis, team.key, "day") == 5);
}

TEST_CASE("limits operator: rotation lifts no ban")
{
    Team team(5, "threshold=10");
    team.use_up("api_key_banned");
    const auto end = rate_headers_of(team.clients[0].get("/v1/pets")).reset;
    const auto fresh = team.rotate("0");
    CHECK(team.within(fresh, 429, "api_key_banned"));
    for (auto& client : team.clients) {
        CHECK(rate_headers_of(client.get("/v1/pets")).reset == end);
    }
    CHECK(team.within(team.key, 401, "invalid_api_key"));
}

TEST_CASE("limits operator: a grace of some seconds ends on time")
{
    Team team(1'000'000);
    REQUIRE(team.within(team.key, 200));
    const auto fresh = team.rotate("8s");
    const auto deadline = Clock::now() + 10s;
    CHECK(team.clients[0].get("/v1/pets").status == 200);
    CHECK(kept_by(deadline, [&] {
        return team.clients[0].get("/v1/pets").status == 401;
    }));
    CHECK(team.within(team.key, 401, "invalid_api_key"));
    CHECK(team.within(fresh, 200));
}

TEST_CASE(
    "limits operator: a key is not refused because another key of the account has a lower limit")
{
    // After a rotation with grace, the new key gets a higher limit.
    Team team(5);
    const auto fresh = team.rotate("1h");
    team.run({"set", fresh.id, "--per-minute", "50"});
    team.use_up();

    auto& http = team.clients[0];
    // Both keys share the count. The new key is not refused because the old one
    // has nothing left.
    for (long long left = 50 - 5 - 1; left >= 0; --left) {
        http.use_key(team.key.secret);
        const auto small = http.get("/v1/pets");
        expect_error(small, 429, "rate_limit_exceeded");
        CHECK(rate_headers_of(small).limit == 5);
        http.use_key(fresh.secret);
        const auto big = http.get("/v1/pets");
        REQUIRE(big.status == 200);
        CHECK(rate_headers_of(big).limit == 50);
        CHECK(rate_headers_of(big).remaining == left);
    }
    const auto over = http.get("/v1/pets");
    expect_error(over, 429, "rate_limit_exceeded");
    CHECK(rate_headers_of(over).limit == 50);
    http.use_key(team.key.secret);
    CHECK(rate_headers_of(http.get("/v1/pets")).limit == 5);
}

TEST_CASE("limits operator: a host whose clock is behind ends keys no later")
{
    if (sanitized()) {
        return;  // AddressSanitizer does not share LD_PRELOAD
    }
    RedisServer redis;
    const auto key = create_key(redis);
    NginxOptions options;
    options.redis = redis.url();
    options.env = clock_off_by("-3600");
    NginxServer nginx(options);
    std::vector<Http> clients;
    clients.emplace_back(nginx.url());
    REQUIRE(within_a_second(clients, key.secret, 200));
    const auto rotated =
        ctl(redis.url(), {"key", "rotate", key.id, "--grace", "0", "--json"});
    const std::string fresh = nlohmann::json::parse(rotated.out).at("key");
    remember_secret(fresh);
    CHECK(within_a_second(clients, key.secret, 401, "invalid_api_key"));
    CHECK(within_a_second(clients, fresh, 200));
}
