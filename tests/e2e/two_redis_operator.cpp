// petstorectl with a separate limit Redis.
#include <future>

#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

using Arguments = std::vector<std::string>;

}  // namespace

TEST_CASE("two redis: petstorectl remembers where the limits are")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    CHECK(limits_marker(redis.main) == "elsewhere");
    CHECK(limits_marker(redis.limits) == "here");

    // Without the option, commands neither change nor show anything.
    for (const auto& command : {Arguments{"key", "create"},
                                {"key", "list"},
                                {"key", "show", key.id},
                                {"key", "disable", key.id},
                                {"key", "unban", key.id},
                                {"key", "usage", key.id},
                                {"key", "delete", key.id},
                                {"key", "rotate", key.id}}) {
        check_fails(ctl(redis.main.url(), command), "--limit-redis");
    }
    // Commands for pets do not need the limits.
    CHECK(ctl(redis.main.url(), {"pet", "import", "-"},
              "{\"name\":\"a\",\"categoryId\":1}\n")
              .code
          == 0);
    CHECK(ctl(redis.main.url(), {"cache", "clear"}).code == 0);

    // By the option or the variable.
    CHECK(redis.ctl({"key", "show", key.id}).code == 0);
    CHECK(
        run({ctl_binary(), "--redis", redis.main.url(), "key", "usage", key.id},
            "", {{"PETSTORE_LIMIT_REDIS", redis.limits.url()}})
            .code
        == 0);
    // Another prefix is another store.
    CHECK(ctl(redis.main.url(), {"--prefix", "other", "key", "list"}).code
          == 0);

    // The wrong limit Redis is detected.
    RedisServer wrong;
    const Arguments disable{"key", "disable", key.id};
    const auto with = [&](const std::string& limits) {
        return ctl(redis.main.url(),
                   {"--limit-redis", limits, "key", "disable", key.id});
    };
    check_fails(with(wrong.url()), "does not have the limits of this store");
    check_fails(with(redis.main.tcp_url()), "not moved completely");
    check_fails(with(redis.main.url()), "--limit-redis");
    wrong.command({"SET", kLimitsMarker, "here other-id"});
    check_fails(with(wrong.url()), "limits of another store");
    wrong.command({"SET", kLimitsMarker, "nonsense"});
    check_fails(with(wrong.url()), "damaged");
    CHECK(with(redis.limits.tcp_url()).code == 0);
    CHECK(with("nonsense").code == 2);
}

TEST_CASE("two redis: first commands that run at once choose one id")
{
    TwoRedis redis;
    std::vector<std::future<int>> commands;
    for (int i = 0; i < 8; ++i) {
        commands.push_back(std::async(std::launch::async, [&] {
            return redis.ctl({"account", "create"}).code;
        }));
    }
    std::size_t created = 0;
    for (auto& command : commands) {
        created += command.get() == 0 ? 1 : 0;
    }
    CHECK(created >= 1);
    const auto id = [](const RedisServer& server) {
        return split(server.command({"GET", kLimitsMarker}).text, ' ').back();
    };
    CHECK(id(redis.main) == id(redis.limits));
    const auto list = redis.ctl({"account", "list", "--json"});
    INFO(list.err);
    REQUIRE(list.code == 0);
    CHECK(nlohmann::json::parse(list.out).size() == created);
}

TEST_CASE("two redis: petstorectl does not mix a store of one with another")
{
    RedisServer one;
    RedisServer other;
    const auto key = create_key(one);
    check_fails(ctl(one.url(),
                    {"--limit-redis", other.url(), "key", "disable", key.id}),
                "petstorectl limits move");
    CHECK(other.command({"DBSIZE"}).integer == 0);
    CHECK(one.command({"EXISTS", kLimitsMarker}).integer == 0);
    // The same Redis twice, by the same URL, counts as one …
    CHECK(ctl(one.url(), {"--limit-redis", one.url(), "key", "disable", key.id})
              .code
          == 0);
    // … and by another URL it is detected.
    RedisServer empty;
    check_fails(
        ctl(empty.url(), {"--limit-redis", empty.tcp_url(), "key", "create"}),
        "same database");
    check_fails(
        ctl(one.url(), {"--limit-redis", one.tcp_url(), "limits", "move"}),
        "same database");
    CHECK(one.command({"EXISTS", kLimitsMarker}).integer == 0);
    CHECK(ctl(one.url(), {"limits", "move"}).code == 2);
}

TEST_CASE("two redis: passwords of petstorectl")
{
    RedisServer main({"requirepass main-secret"});
    RedisServer limits({"requirepass limit-secret"});
    TempDir dir;
    write_file(dir / "main", "main-secret\n");
    write_file(dir / "limits", "limit-secret\n");
    const auto create = [&](Arguments more) {
        more.insert(more.begin(),
                    {"--limit-redis", limits.url(), "key", "create", "--json"});
        return ctl(main.url(), more);
    };
    const auto made = create({"--password-file", dir / "main",
                              "--limit-password-file", dir / "limits"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    remember_secret(nlohmann::json::parse(made.out).at("key"));
    CHECK(create({"--password-file", dir / "main"}).code == 4);
    CHECK(create({"--password-file", dir / "main", "--limit-password-file",
                  dir / "none"})
              .code
          == 1);
}

TEST_CASE("two redis: doctor examines both")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    const auto verdicts = [&](const Output& output) {
        std::map<std::string, std::string> found;
        for (const auto& finding : nlohmann::json::parse(output.out)) {
            found[finding.at("check")] = finding.at("verdict");
        }
        return found;
    };
    auto found = verdicts(redis.ctl({"doctor", "--json"}));
    CHECK(found.at("version") == "ok");
    CHECK(found.at("limit-redis version") == "ok");
    CHECK(found.at("limit-redis maxmemory-policy") == "ok");
    CHECK(found.at("limits") == "ok");

    redis.limits.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    const auto evicting = redis.ctl({"doctor", "--json"});
    CHECK(evicting.code == 1);
    CHECK(verdicts(evicting).at("limit-redis maxmemory-policy") == "wrong");

    const auto without = ctl(redis.main.url(), {"doctor", "--json"});
    CHECK(without.code == 1);
    CHECK(verdicts(without).at("limits") == "wrong");
}

TEST_CASE("two redis: the access rules of the documentation suffice")
{
    TwoRedis redis;
    const auto text =
        read_file(std::string(E2E_SUPPORT) + "/../../../docs/redis-keys.md");
    // The ACL rules of this user in the documentation.
    const auto rules_of = [&](const std::string& user) {
        const auto start = text.find("ACL SETUSER " + user + " ");
        REQUIRE(start != std::string::npos);
        auto block = text.substr(start, text.find("```", start) - start);
        replace_all(block, "\n", " ");
        replace_all(block, ">PASSWORD", ">pw");
        Words words;
        for (const auto& word : split(block, ' ')) {
            if (!word.empty()) {
                words.push_back(word);
            }
        }
        return words;
    };
    REQUIRE(redis.main.command(rules_of("petstore-main")).text == "OK");
    REQUIRE(redis.limits.command(rules_of("petstore-limits")).text == "OK");
    const auto url = [](const std::string& user, const RedisServer& server) {
        return "redis://" + user + ":pw@" + server.address();
    };
    NginxOptions options;
    options.redis = url("petstore-main", redis.main);
    options.http =
        "petstore_limit_redis " + url("petstore-limits", redis.limits) + ";";
    options.location = "petstore_ban threshold=3;";
    NginxServer nginx(options);
    const auto key = redis.create_key();
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").body == "[]");
    const std::string pet = "{\"name\":\"n\",\"categoryId\":1}";
    CHECK(http.post("/v1/pets", pet).status == 201);
    for (int i = 0; i < 2; ++i) {
        CHECK(http.post("/v1/pets", pet, {{"Idempotency-Key", "k"}}).status
              == 201);
    }
    CHECK(http.get("/v1/pets").json().size() == 2);
    CHECK(http.get("/v1/pets?status=available").json().size() == 2);
    CHECK(http.get("/v1/pets/2").status == 200);
    const auto limited = redis.limited_key(1);
    Http denied(nginx.url(), limited.secret);
    REQUIRE(wait_until(
        [&] { return code_of(denied.get("/v1/pets")) == "api_key_banned"; }));
    // After a clock was set back, the limiter also corrects the end of the ban.
    const auto day = 86'400'000LL;
    set_number(redis.limits, limited, Number::day_end,
               redis_millis(redis.limits) + 3 * day);
    REQUIRE(wait_until([&] {
        denied.get("/v1/pets");
        return number_of(redis.limits, limited, Number::day_end)
               <= redis_millis(redis.limits) + day;
    }));
    CHECK_FALSE(contains(nginx.error_log(), "NOPERM"));
    CHECK_FALSE(contains(nginx.error_log(), "[error]"));

    // petstorectl needs the rules for one Redis on both.
    auto rules = rules_of("petstore");
    const auto start = text.find("    +exists +persist");
    for (const auto& line :
         split(text.substr(start, text.find("```", start) - start), '\n')) {
        for (const auto& word : split(line, ' ')) {
            if (!word.empty()) {
                rules.push_back(word);
            }
        }
    }
    for (const auto* server : {&redis.main, &redis.limits}) {
        REQUIRE(server->command(rules).text == "OK");
    }
    const auto does = [&](Arguments arguments) {
        arguments.insert(arguments.begin(),
                         {"--limit-redis", url("petstore", redis.limits)});
        const auto result = ctl(url("petstore", redis.main), arguments);
        INFO(arguments.back() << ": " << result.err);
        CHECK(result.code == 0);
    };
    does({"key", "usage", key.id});
    does({"key", "unban", limited.id});
    does({"key", "disable", key.id});
    does({"limits", "return"});
    does({"limits", "move"});
    does({"key", "list"});
    does({"doctor"});
}

TEST_CASE("two redis: a host with one Redis gets no second budget")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    NginxOptions forgotten;
    forgotten.redis = redis.main.url();
    NginxServer nginx(forgotten);
    Http http(nginx.url(), key.secret);
    for (int i = 0; i < 3; ++i) {
        expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    }
    CHECK(contains(nginx.error_log(), "[error]"));
    CHECK(contains(nginx.error_log(), "the counters were moved"));
    CHECK(redis.main.command({"KEYS", "*:state"}).items.empty());
}

TEST_CASE("two redis: a limit Redis that was emptied has to be confirmed")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    redis.limits.command({"FLUSHALL"});
    check_fails(redis.ctl({"key", "disable", key.id}), "has lost its data");
    check_fails(redis.ctl({"limits", "move"}), "--emptied");
    REQUIRE(redis.ctl({"limits", "move", "--emptied"}).code == 0);
    CHECK(redis.ctl({"key", "disable", key.id}).code == 0);
}

TEST_CASE("two redis: the limits do not move to a third Redis")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    RedisServer third;
    for (const char* direction : {"move", "return"}) {
        check_fails(ctl(redis.main.url(),
                        {"--limit-redis", third.url(), "limits", direction}),
                    "of this store");
        CHECK(third.command({"DBSIZE"}).integer == 0);
        CHECK(limits_marker(redis.main) == "elsewhere");
    }
    CHECK(redis.ctl({"key", "disable", key.id}).code == 0);
}

TEST_CASE("two redis: the limits move to a second Redis only")
{
    RedisServer redis;
    create_key(redis);
    for (const char* command : {"move", "return"}) {
        INFO(command);
        check_fails(ctl(redis.url(), {"limits", command}),
                    "limits " + std::string(command) + " needs --limit-redis",
                    2);
        check_fails(
            ctl(redis.url(), {"--limit-redis", redis.url(), "limits", command}),
            "--limit-redis names the same database as --redis", 2);
    }
}

TEST_CASE("command line: a hanging Redis times out")
{
    RedisServer hanging;
    hanging.pause();
    for (const auto& url : {hanging.url(), hanging.tcp_url()}) {
        const auto start = Clock::now();
        check_fails(ctl(url, {"key", "create"}), "no answer in time", 4);
        // A login may take 5 s, a reply 60 s. The machine may stop meanwhile.
        CHECK(Clock::now() - start < 50s);
    }
}
