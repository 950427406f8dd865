// petstorectl doctor: it finds why workers answer 503.
#include <regex>

#include "support/cluster_servers.h"
#include "support/terminal.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

struct Row {
    std::string verdict;
    std::string found;
    std::string advice;
};

// What `doctor --json` lists, by the check's name.
std::map<std::string, Row> doctor(const std::string& redis,
                                  const Words& options = {})
{
    Words words = {"doctor", "--json"};
    words.insert(words.end(), options.begin(), options.end());
    const auto output = ctl(redis, words);
    std::map<std::string, Row> rows;
    for (const auto& row : nlohmann::json::parse(output.out, nullptr, false)) {
        rows[row.at("check")] = {row.at("verdict"), row.at("found"),
                                 row.at("advice")};
    }
    bool any_wrong = false;
    for (const auto& [check, row] : rows) {
        any_wrong |= row.verdict == "wrong";
    }
    CHECK(output.code == (any_wrong ? 1 : 0));
    return rows;
}

void check_no_leftovers(const RedisServer& redis)
{
    CHECK(redis.command({"KEYS", "petstore:{doctor*"}).items.empty());
    CHECK(redis.command({"KEYS", "petstore:*probe"}).items.empty());
}

// The rules in the code block below a heading of docs/redis-keys.md that
// contains `with`.
Words documented_rules(const std::string& with)
{
    std::string text =
        read_file(std::string(E2E_SUPPORT) + "/../../../docs/redis-keys.md");
    text.erase(0, text.find(with));
    text.erase(0, text.find('+'));
    text.erase(text.find("```"));
    Words rules;
    for (const auto& word :
         split(std::regex_replace(text, std::regex("\\s+"), " "), ' ')) {
        if (!word.empty()) {
            rules.push_back(word);
        }
    }
    return rules;
}

// The login of a user with these rules.
std::string with_user(const RedisServer& redis, const Words& rules)
{
    Words command = {"ACL", "SETUSER", "worker", "reset", "on", ">pw", "-@all"};
    command.insert(command.end(), rules.begin(), rules.end());
    REQUIRE(redis.command(command).text == "OK");
    return "redis://worker:pw@" + redis.address();
}

}  // namespace

TEST_CASE("doctor: a Redis that refuses writes is wrong")
{
    Store store;
    RedisServer& redis = store.redis;
    CHECK(doctor(redis.url()).count("worker writes") == 0);
    CHECK(
        contains(ctl(redis.url(), {"doctor"}).out,
                 "ok       worker writes     accepted, and the limiter works"));

    const auto is_wrong = [&](const std::string& error) {
        CHECK(store.client().get("/v1/pets").status == 503);
        const auto row = doctor(redis.url()).at("worker writes");
        CHECK(row.verdict == "wrong");
        CHECK(contains(row.found, error));
        CHECK(contains(row.advice, "503"));
        check_no_leftovers(redis);
    };
    const auto used = redis.info("used_memory");
    redis.command({"CONFIG", "SET", "maxmemory", std::to_string(used / 2)});
    is_wrong("OOM");
    const auto memory = doctor(redis.url()).at("maxmemory");
    CHECK(memory.verdict == "wrong");
    CHECK(std::regex_match(memory.found,
                           std::regex("used [0-9.]+ [KM]B of [0-9.]+ [KM]B")));
    redis.command(
        {"CONFIG", "SET", "maxmemory", std::to_string(used + used / 20)});
    CHECK(doctor(redis.url()).at("maxmemory").verdict == "warning");
    redis.command({"CONFIG", "SET", "maxmemory", "0"});

    redis.command({"CONFIG", "SET", "min-replicas-to-write", "2"});
    is_wrong("NOREPLICAS");
    const auto replicas = doctor(redis.url()).at("min-replicas-to-write");
    CHECK(replicas.verdict == "wrong");
    CHECK(replicas.found == "0 connected, at least 2 needed");
    redis.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
    CHECK(doctor(redis.url()).count("worker writes") == 0);
    CHECK(doctor(redis.url()).count("maxmemory") == 0);
}

TEST_CASE("doctor: each rule that workers lack is named")
{
    RedisServer redis;
    RedisServer limits;
    const auto all = documented_rules("workers need these rules");
    const auto main = documented_rules("On the main Redis:");
    const auto limit = documented_rules("On the limit Redis:");
    REQUIRE(all.size() > 15);
    REQUIRE(main.size() > 15);
    REQUIRE(limit.size() > 12);

    // The first is for other databases; without the last, no name of a key is
    // left.
    const Words skipped = {"+select", "~petstore:*"};
    // Workers can do without these.
    const Words for_plans = {"+hscan",         "+hset",    "+hdel",
                             "+hrandfield",    "+pexpire", "%R~petstore:plans",
                             "~petstore:hosts"};
    const Words for_checks = {"+info", "%R~petstore:limits-place"};
    const auto is_one_of = [](const Words& words, const std::string& word) {
        return std::find(words.begin(), words.end(), word) != words.end();
    };
    const auto examine = [&](const RedisServer& server, const Words& rules,
                             const Words& patterns, const std::string& which,
                             const auto& rows_with) {
        auto with_patterns = rules;
        with_patterns.insert(with_patterns.end(), patterns.begin(),
                             patterns.end());
        const auto enough = rows_with(with_user(server, with_patterns));
        CHECK(enough.count(which + "worker rights") == 0);
        CHECK(enough.count(which + "worker plans") == 0);
        CHECK(enough.count(which + "worker checks") == 0);
        for (std::size_t i = 0; i < with_patterns.size(); ++i) {
            const std::string missing = with_patterns[i];
            if (is_one_of(skipped, missing)) {
                continue;
            }
            auto fewer = with_patterns;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
            INFO(which << missing);
            const auto rows = rows_with(with_user(server, fewer));
            const bool works = rows.count(which + "worker rights") == 0;
            const bool is_for_checks = is_one_of(for_checks, missing);
            if (works) {
                CHECK((is_for_checks || is_one_of(for_plans, missing)));
            }
            const std::string name = !works          ? "worker rights"
                                     : is_for_checks ? "worker checks"
                                                     : "worker plans";
            REQUIRE(rows.count(which + name) == 1);
            const auto row = rows.at(which + name);
            CHECK(row.verdict == (works ? "warning" : "wrong"));
            CHECK(contains(row.found + " ", " " + missing + " "));
            CHECK(contains(row.advice, missing));
            if (missing != "+del") {  // they expire
                check_no_leftovers(server);
            }
        }
    };
    examine(redis, all, {"~petstore:*"}, "",
            [](const auto& url) { return doctor(url); });
    examine(redis, main,
            {"~petstore:{petstore:pets}:*", "%R~petstore:key:*",
             "%R~petstore:account:*", "%R~petstore:limits-place",
             "%R~petstore:plans", "~petstore:hosts"},
            "", [&](const auto& url) {
                return doctor(url, {"--limit-redis", limits.url()});
            });
    examine(limits, limit, {"~petstore:{*}:*", "%R~petstore:limits-place"},
            "limit-redis ", [&](const auto& url) {
                return doctor(redis.url(), {"--limit-redis", url});
            });
}

TEST_CASE("doctor: with two Redis, each is tried with what is kept there")
{
    TwoRedis redis;
    redis.create_key();
    const Words options = {"--limit-redis", redis.limits.url()};
    CHECK(doctor(redis.main.url(), options).count("worker writes") == 0);
    redis.limits.command({"CONFIG", "SET", "maxmemory", "1"});
    auto rows = doctor(redis.main.url(), options);
    CHECK(rows.count("worker writes") == 0);
    CHECK(rows.at("limit-redis worker writes").verdict == "wrong");
    redis.limits.command({"CONFIG", "SET", "maxmemory", "0"});
    redis.main.command({"CONFIG", "SET", "maxmemory", "1"});
    rows = doctor(redis.main.url(), options);
    CHECK(rows.at("worker writes").verdict == "wrong");
    CHECK(rows.count("limit-redis worker writes") == 0);
}

TEST_CASE("doctor: a store without keys may not use another store's limits")
{
    RedisServer main;
    RedisServer limits;
    const Words options = {"--limit-redis", limits.url()};
    const auto found = [&] { return doctor(main.url(), options).at("limits"); };
    CHECK(found().verdict == "ok");
    CHECK(main.command({"KEYS", "*"}).items.empty());
    CHECK(limits.command({"KEYS", "*"}).items.empty());

    const auto same =
        doctor(main.url(), {"--limit-redis", main.tcp_url()}).at("limits");
    CHECK(same.verdict == "wrong");
    CHECK(contains(same.advice, "names the same database"));

    limits.command({"SET", "petstore:limits-place", "here other-id"});
    const auto row = found();
    CHECK(row.verdict == "wrong");
    CHECK(contains(row.advice, "has the limits of another store"));
    const auto refused =
        ctl(main.url(), {"--limit-redis", limits.url(), "key", "create"});
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, row.advice));
    CHECK(main.command({"KEYS", "*"}).items.empty());
    CHECK(limits.command({"GET", "petstore:limits-place"}).text
          == "here other-id");
}

TEST_CASE("doctor: in a Cluster, each primary is tried")
{
    ClusterServers redis;
    for (std::size_t i = 0; i < 6; ++i) {
        redis.server(i).command({"CONFIG", "SET", "appendonly", "yes"});
    }
    const auto healthy = ctl(redis.url(), {"doctor"});
    INFO(healthy.out);
    CHECK(healthy.code == 0);
    CHECK(std::regex_search(
        healthy.out,
        std::regex("ok +worker writes +accepted, and the limiter works")));
    for (std::size_t i = 0; i < 3; ++i) {
        check_no_leftovers(redis.server(i));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        redis.server(i).command({"CONFIG", "SET", "maxmemory", "1"});
        const auto rows = doctor(redis.url());
        const auto name = redis.address(i) + " ";
        CHECK(rows.at(name + "worker writes").verdict == "wrong");
        CHECK(rows.at(name + "maxmemory").verdict == "wrong");
        CHECK(rows.count("worker writes") == 0);
        redis.server(i).command({"CONFIG", "SET", "maxmemory", "0"});
        check_no_leftovers(redis.server(i));
    }
}

TEST_CASE("doctor: the table fits the terminal")
{
    RedisServer redis({"appendonly no", "save \"\""});
    const auto wide = ctl(redis.url(), {"doctor"}).out;
    for (const int columns : {300, 80, 60, 40, 20}) {
        INFO(columns);
        const auto shown = without_colours(
            on_terminal(redis.url(), "doctor", "\n", {}, columns).out);
        INFO(shown);
        std::string words;
        for (auto line : split(shown, '\n')) {
            if (!line.empty() && line.back() == '\r') {
                line.pop_back();
            }
            if (!contains(line, "petstorectl: ")) {
                CHECK(line.size() <= static_cast<std::size_t>(columns));
                words += line + ' ';
            }
        }
        words = std::regex_replace(words, std::regex(" +"), " ");
        if (columns >= 60) {
            CHECK(contains(
                words,
                "wrong persistence none Redis loses recent data, or all of it, when it stops: CONFIG SET appendonly yes, and set it in redis.conf"));
        }
    }
    // Programs read the table as it was.
    CHECK(contains(wide, "VERDICT  CHECK             FOUND"));
    CHECK(contains(wide, "ADVICE\n"));
}

TEST_CASE("doctor: a Redis that refuses every command is not judged")
{
    RedisServer redis;
    const auto refused = [&](const std::string& error,
                             const std::string& advice) {
        INFO(error);
        const auto text = ctl(redis.url(), {"doctor"});
        CHECK(text.code == 4);
        CHECK(contains(text.out, "wrong    reachable"));
        CHECK(contains(text.out, error));
        CHECK(contains(text.out, advice));
        CHECK_FALSE(contains(text.out, "rights"));
        const auto json = ctl(redis.url(), {"doctor", "--json"});
        CHECK(json.code == 4);
        CHECK(nlohmann::json::parse(json.err).at("code")
              == "redis_unavailable");
    };
    redis.command({"REPLICAOF", "127.0.0.1", "1"});
    redis.command({"CONFIG", "SET", "replica-serve-stale-data", "no"});
    refused("MASTERDOWN", "use the primary");
    redis.command({"REPLICAOF", "NO", "ONE"});

    redis.command({"CONFIG", "SET", "requirepass", "pw"});
    refused("NOAUTH", "check the user, the password");
}

TEST_CASE("command line: doctor reports a Redis that cannot be reached")
{
    const auto text = ctl("unix:/nowhere/redis.sock", {"doctor"});
    CHECK(text.code == 4);
    CHECK(contains(text.out, "wrong    reachable"));
    CHECK(contains(text.err, "petstorectl: cannot connect"));
    const auto json = ctl("unix:/nowhere/redis.sock", {"doctor", "--json"});
    CHECK(json.code == 4);
    const auto findings = nlohmann::json::parse(json.out);
    REQUIRE(findings.size() == 1);
    CHECK(findings.at(0).at("check") == "reachable");
    CHECK(findings.at(0).at("verdict") == "wrong");

    RedisServer redis;
    CHECK(contains(ctl(redis.url(), {"doctor"}).out, "ok       reachable"));
    const auto limits =
        run({ctl_binary(), "--redis", redis.url(), "--limit-redis",
             "unix:/nowhere/redis.sock", "doctor"});
    CHECK(limits.code == 4);
    CHECK(contains(limits.out, "wrong    limit-redis reachable"));
    CHECK(contains(limits.out, "version"));
}

TEST_CASE("doctor: a damaged catalogue is wrong")
{
    RedisServer redis;
    import_pets(redis, 1);
    CHECK(doctor(redis.url()).at("pets").verdict == "ok");
    const std::string catalogue = "petstore:{petstore:pets}:";
    const auto is_wrong = [&](const std::string& key) {
        const auto row = doctor(redis.url()).at("pets");
        CHECK(row.verdict == "wrong");
        CHECK(contains(row.found, "the Redis key " + key + " is damaged"));
        CHECK(contains(row.advice, "requests for pets fail"));
    };
    for (const char* name : {"count", "changes", "segments"}) {
        INFO(name);
        const std::string key = catalogue + name;
        const auto value = redis.command({"GET", key}).text;
        redis.command({"DEL", key});
        is_wrong(key);
        redis.command({"LPUSH", key, "x"});
        is_wrong(key);
        redis.command({"SET", key, "abc"});
        is_wrong(key);
        redis.command({"SET", key, value});
    }
    CHECK(doctor(redis.url()).at("pets").verdict == "ok");
    redis.command({"DEL", catalogue + "count", catalogue + "changes"});
    is_wrong(catalogue + "count");
}

TEST_CASE("doctor: a format that is unknown or damaged is wrong")
{
    RedisServer redis;
    create_key(redis);
    const auto fails = [&](const Words& command, const std::string& why) {
        const auto output = ctl(redis.url(), command);
        CHECK(output.code == 1);
        CHECK(contains(output.err, why));
        CHECK_FALSE(contains(output.err, "petstorectl upgrade"));
    };
    SECTION("of a later version")
    {
        const std::string advice =
            "use a later petstorectl, or repair the Redis key petstore:limits";
        redis.command({"SET", "petstore:limits", "elsewhere-format-3"});
        fails({"key", "list"}, advice);
        fails({"upgrade"}, advice);
        const auto row = doctor(redis.url()).at("format");
        CHECK(row.verdict == "wrong");
        CHECK(row.advice == advice);
    }
    SECTION("of another type")
    {
        const std::string why = "the Redis key petstore:limits is damaged";
        redis.command({"DEL", "petstore:limits"});
        redis.command({"LPUSH", "petstore:limits", "x"});
        fails({"key", "list"}, why);
        const auto row = doctor(redis.url()).at("format");
        CHECK(row.verdict == "wrong");
        CHECK(contains(row.advice, why));
    }
    SECTION("and so is a damaged place of the limits")
    {
        const std::string why =
            "the Redis key petstore:limits-place is damaged";
        redis.command({"LPUSH", "petstore:limits-place", "x"});
        fails({"key", "list"}, why);
        const auto row = doctor(redis.url()).at("limits");
        CHECK(row.verdict == "wrong");
        CHECK(contains(row.advice, why));
    }
}

TEST_CASE("doctor: the advice about damaged plans can be followed")
{
    RedisServer redis;
    create_key(redis);
    redis.command({"HSET", "petstore:plans", "gold", "x", "BAD NAME", "1 2"});
    const auto found = [&] {
        return ctl(redis.url(), {"doctor", "--json"}).out;
    };
    const Words set = {"plan", "set",       "gold", "--per-minute",
                       "1",    "--per-day", "2"};
    CHECK(contains(found(), "set it again: petstorectl plan set"));
    CHECK(ctl(redis.url(), set).code == 0);
    CHECK_FALSE(contains(found(), "set it again"));
    CHECK(contains(found(), "can have this name: petstorectl plan delete"));
    CHECK(ctl(redis.url(), {"plan", "delete", "BAD NAME"}).code == 0);
    CHECK_FALSE(contains(found(), "is damaged"));

    redis.command({"DEL", "petstore:plans"});
    redis.command({"SET", "petstore:plans", "x"});
    CHECK(contains(found(), "delete the Redis key petstore:plans, then set"));
    redis.command({"DEL", "petstore:plans"});
    CHECK(ctl(redis.url(), set).code == 0);
    CHECK_FALSE(contains(found(), "damaged"));
}

TEST_CASE("doctor: a store that was moved away is not damaged")
{
    RedisServer redis;
    RedisServer other;
    import_pets(redis, 1);
    create_key(redis);
    REQUIRE(ctl(redis.url(), {"move", "--to", other.url()}).code == 0);
    const auto rows = doctor(redis.url());
    CHECK(rows.count("pets") == 0);
    CHECK(rows.at("limits").verdict == "wrong");
    CHECK(contains(rows.at("limits").advice, "moved to another Redis"));
    CHECK(contains(ctl(redis.url(), {"doctor"}).err,
                   "something is wrong (see above)"));
    CHECK(doctor(other.url()).at("pets").verdict == "ok");
}
