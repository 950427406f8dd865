// docs/petstorectl.md, "Usage".
#include <cstring>
#include <set>

#include "support/cluster_servers.h"
#include "support/redis_clock.h"
#include "support/terminal.h"
#include "support/two_redis.h"

using namespace petstore::e2e;
using nlohmann::json;

namespace {

constexpr long long kDay = 86400;

std::string date(long long day)
{
    const std::time_t time = day * kDay;
    char text[16];
    std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&time));
    return text;
}

std::string month(long long day)
{
    return date(day).substr(0, 7);
}

long long today(const RedisServer& redis)
{
    return redis_now(redis) / kDay;
}

// Runs `usage --json`.
json usage(const std::string& redis, Words arguments)
{
    arguments.insert(arguments.begin(), "usage");
    arguments.emplace_back("--json");
    const auto output = ctl(redis, arguments);
    INFO(output.err);
    REQUIRE(output.code == 0);
    return json::parse(output.out);
}

Words csv(const std::string& redis, Words arguments)
{
    arguments.insert(arguments.begin(), {"usage", "--csv"});
    const auto output = ctl(redis, arguments);
    INFO(output.err);
    REQUIRE(output.code == 0);
    return split(output.out, '\n');
}

json count(const std::string& name, const std::string& start,
           long long admitted, long long denied = 0)
{
    return {{name, start}, {"admitted", admitted}, {"denied", denied}};
}

std::set<std::string> members(const json& object)
{
    std::set<std::string> names;
    for (const auto& item : object.items()) {
        names.insert(item.key());
    }
    return names;
}

// A state as docs/redis-keys.md describes it: of an account that used 30 units
// on `day`, after 270 on earlier days of that month.
std::string state(long long day, long long now_ms)
{
    const double numbers[] = {17,          double(day),
                              5,           double(now_ms + 60'000),
                              40,          double(now_ms + 3'600'000),
                              300,         0,
                              double(day), 270};
    std::string bytes(sizeof(numbers), '\0');
    std::memcpy(bytes.data(), numbers, sizeof(numbers));
    return bytes;
}

// An account with raw keys.
struct RawAccount {
    const RedisServer& redis;
    std::string id;

    explicit RawAccount(const RedisServer& on, std::string account,
                        const Words& fields = {})
        : redis(on), id(std::move(account))
    {
        const std::string created =
            std::to_string(redis_now(redis) - 90 * kDay);
        Words words = {"HSET",    "petstore:account:" + id,
                       "id",      id,
                       "created", created,
                       "epoch",   "17"};
        words.insert(words.end(), fields.begin(), fields.end());
        redis.command(words);
        redis.command({"HSET", "petstore:accounts", id, created});
    }

    void set_state(long long day) const
    {
        redis.command({"SET", "petstore:{" + id + "}:state",
                       state(day, redis_millis(redis))});
    }

    void used(long long day, long long admitted, long long denied = 0) const
    {
        const std::string text = date(day);
        const std::string field = text.substr(8);
        redis.command({"HSET", ledger(day), field, std::to_string(admitted),
                       field + "d", std::to_string(denied)});
    }

    std::string ledger(long long day) const
    {
        std::string text = month(day);
        text.erase(4, 1);
        return "petstore:{" + id + "}:usage:" + text;
    }
};

// Claims the store for this format, as the first change does.
void make_store(const RedisServer& redis)
{
    create_key(redis);
}

// Its clock is at noon, so that no test passes midnight in UTC.
struct RedisAtNoon : ClockedRedis {
    RedisAtNoon() { set_time("2027-05-17 12:00:00"); }
};

}  // namespace

TEST_CASE("usage: the days and months of real traffic are exact")
{
    ClockedRedis c;
    // Ten hours into the 30th of January.
    const long long first = 21'944;  // 2030-01-30
    const long long start = first * kDay + 36'000 - unix_time();
    c.set_clock(start);
    const auto made =
        ctl(c.redis.url(),
            {"account", "create", "--external-id", "cust_42", "--label",
             "Acme, Ltd", "--plan", "pro", "--per-month", "900"});
    REQUIRE(made.code == 0);
    const auto key = create_key(c.redis, {"--external-id", "cust_42"});
    NginxServer nginx(c.options());
    Http http(nginx.url(), key.secret);
    const auto send = [&](int requests) {
        for (int i = 0; i < requests; ++i) {
            REQUIRE(http.get("/v1/pets").status == 200);
        }
    };
    send(3);
    c.set_clock(start + kDay);
    send(5);
    c.set_clock(start + 2 * kDay);  // in February
    send(2);

    const Words period = {"--from", date(first - 5), "--to", date(first + 9)};
    auto days = usage(c.redis.url(), {key.account, period[0], period[1],
                                      period[2], period[3]});
    CHECK(days.at("days")
          == json{count("date", "2030-01-30", 3),
                  count("date", "2030-01-31", 5),
                  count("date", "2030-02-01", 2)});
    CHECK(days.at("last_used") == "2030-02-01");
    CHECK(days.at("windows").at(2).at("used") == 2);
    CHECK(days.at("windows").at(2).at("reset")
          == (first + 30) * kDay);  // 2030-03-01
    CHECK(csv(c.redis.url(), {"--by", "month", "--last", "2"})
          == Words{"account,external_id,label,plan,month,admitted,denied",
                   key.account + ",cust_42,\"Acme, Ltd\",pro,2030-01,8,0",
                   key.account + ",cust_42,\"Acme, Ltd\",pro,2030-02,2,0"});

    // An idle month later, the last day is still there.
    c.set_clock(start + 40 * kDay);
    const auto later = usage(c.redis.url(), {"--external-id", "cust_42", "--by",
                                             "month", "--last", "3"});
    CHECK(later.at("months")
          == json{count("month", "2030-01", 8), count("month", "2030-02", 2),
                  count("month", "2030-03", 0)});
    CHECK(later.at("last_used") == "2030-02-01");
    CHECK(later.at("windows").at(2).at("used") == 0);
}

TEST_CASE("usage: a worker that quits reports the requests it has denied")
{
    RedisAtNoon host;
    const auto& redis = host.redis;
    const auto key = limited_key(redis, 100'000'000, 1);
    NginxServer nginx(host.options());
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    long long denied = 0;
    for (int reload = 0; reload < 3; ++reload) {
        for (int i = 0; i < 20; ++i) {
            CHECK(http.get("/v1/pets").status == 429);
            ++denied;
        }
        nginx.reload();
    }
    const auto reported = [&] {
        return usage(redis.url(), {key.account}).at("days").back().at("denied");
    };
    CHECK(wait_until([&] { return reported() == denied; }));
}

TEST_CASE("usage: denied requests are counted, and a reset keeps usage")
{
    RedisAtNoon host;
    const auto& redis = host.redis;
    const auto key = limited_key(redis, 2);
    NginxServer nginx(host.options());
    Http http(nginx.url(), key.secret);
    for (int i = 0; i < 12; ++i) {
        http.get("/v1/pets");
    }
    const auto day = [&] {
        return usage(redis.url(), {key.account}).at("days").back();
    };
    CHECK(wait_until([&] { return day().at("denied") == 10; }));
    CHECK(day().at("admitted") == 2);

    REQUIRE(ctl(redis.url(), {"account", "reset", key.account}).code == 0);
    const auto after = usage(redis.url(), {key.account});
    CHECK(after.at("windows").at(0).at("used") == 0);
    CHECK(after.at("windows").at(1).at("used") == 0);
    CHECK(after.at("days").back().at("admitted") == 2);
    CHECK(after.at("last_used") == date(today(redis)));
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(day().at("admitted") == 3);
}

TEST_CASE("usage: an object has the documented members")
{
    const RedisAtNoon host;
    const auto& redis = host.redis;
    make_store(redis);
    const long long now = today(redis);
    const RawAccount account(
        redis, "a1",
        {"external_id", "cust_1", "label", "Acme", "per_month", "1000"});
    account.set_state(now);
    account.used(now - 1, 7, 2);
    account.used(now, 1, 3);  // reset earlier today
    const auto object = usage(redis.url(), {"a1", "--last", "2"});
    CHECK(members(object)
          == std::set<std::string>{"account", "external_id", "label", "plan",
                                   "windows", "last_used", "days"});
    CHECK(object.at("account") == "a1");
    CHECK(object.at("external_id") == "cust_1");
    CHECK(object.at("label") == "Acme");
    CHECK(object.at("plan") == "free");
    CHECK(object.at("last_used") == date(now));
    CHECK(object.at("days")
          == json{count("date", date(now - 1), 7, 2),
                  count("date", date(now), 31, 3)});
    REQUIRE(object.at("windows").size() == 3);
    const auto& windows = object.at("windows");
    for (const auto& window : windows) {
        CHECK(members(window)
              == std::set<std::string>{"window", "limit", "used", "remaining",
                                       "reset"});
        CHECK(window.at("reset") > redis_now(redis));
    }
    CHECK(windows[0].at("window") == "minute");
    CHECK(windows[0].at("limit") == 60);
    CHECK(windows[0].at("used") == 5);
    CHECK(windows[0].at("remaining") == 55);
    CHECK(windows[1].at("window") == "day");
    CHECK(windows[1].at("used") == 40);
    CHECK(windows[2].at("window") == "month");
    CHECK(windows[2].at("limit") == 1000);
    CHECK(windows[2].at("remaining") == 700);

    const auto unused = RawAccount(redis, "a2").id;
    const auto empty = usage(redis.url(), {unused, "--by", "month"});
    CHECK(empty.at("external_id").is_null());
    CHECK(empty.at("label").is_null());
    CHECK(empty.at("last_used").is_null());
    CHECK(empty.at("windows").size() == 2);
    CHECK(empty.at("months") == json{count("month", month(now), 0)});

    // Two are an array, in the order in which they are named.
    const auto two = usage(redis.url(), {"a2", "a1"});
    REQUIRE(two.size() == 2);
    CHECK(two[0].at("account") == "a2");
    CHECK(usage(redis.url(), {}).size() == 3);
}

TEST_CASE("usage: hostile labels harm neither a spreadsheet nor a terminal")
{
    const RedisAtNoon host;
    const auto& redis = host.redis;
    make_store(redis);
    const long long now = today(redis);
    const RawAccount account(
        redis, "a1",
        {"external_id", "=1+1", "label", "=HYPERLINK(\"x\")\x1b[2J,\n\xff"});
    account.used(now, 1);
    const auto output =
        ctl(redis.url(), {"usage", "a1", "--csv", "--last", "1"});
    CHECK(output.out
          == "account,external_id,label,plan,date,admitted,denied\n"
             "a1,'=1+1,\"'=HYPERLINK(\"\"x\"\")\x1b[2J,\n\xff\",free,"
                 + date(now) + ",1,0\n");
    for (const std::string& command :
         Words{"usage a1", "usage", "usage --csv", "usage --json",
               "account show a1", "account list", "account list --json"}) {
        INFO(command);
        const auto shown =
            without_colours(on_terminal(redis.url(), command).out);
        CHECK(contains(shown, "a1"));
        CHECK_FALSE(contains(shown, "\x1b[2J"));
        CHECK_FALSE(contains(shown, "\xff"));
    }
    const auto exact = usage(redis.url(), {"a1"});
    CHECK(exact.at("external_id") == "=1+1");
}

TEST_CASE("usage: damage concerns one account")
{
    const RedisAtNoon host;
    const auto& redis = host.redis;
    make_store(redis);
    const long long now = today(redis);
    const RawAccount good(redis, "good");
    good.used(now, 5);
    const RawAccount bad(redis, "bad");
    const auto fails = [&](const std::string& what) {
        INFO(what);
        const auto one = ctl(redis.url(), {"usage", "bad", "--last", "1"});
        CHECK(one.code == 1);
        CHECK(contains(one.err, "the Redis key " + what + " is damaged"));
        const auto all = ctl(redis.url(), {"usage", "--csv", "--last", "1"});
        CHECK(all.code == 1);
        CHECK(contains(all.out, "good,,,free," + date(now) + ",5,0\n"));
        CHECK_FALSE(contains(all.out, "\nbad,"));
        CHECK(contains(all.err, "the Redis key " + what + " is damaged"));
        CHECK(contains(all.err, "1 account left out"));
    };
    const std::string key = bad.ledger(now);
    const std::string field = date(now).substr(8);
    for (const char* value : {"-1", "1.5", "many", "9007199254740993", ""}) {
        redis.command({"HSET", key, field, value});
        fails(key);
    }
    redis.command({"DEL", key});
    redis.command({"HSET", key, "32", "1"});
    fails(key);
    redis.command({"DEL", key});
    redis.command({"SET", key, "1"});
    fails(key);
    redis.command({"DEL", key});
    redis.command({"SET", "petstore:{bad}:state", "short"});
    fails("petstore:{bad}:state");
    redis.command({"DEL", "petstore:{bad}:state"});
    // What a later version may have added.
    redis.command({"HSET", key, "25x", "?", "note", "hello"});
    CHECK(ctl(redis.url(), {"usage", "bad"}).code == 0);
}

TEST_CASE("usage: --over lists who has used a share of a window")
{
    const RedisAtNoon host;
    const auto& redis = host.redis;
    make_store(redis);
    const long long now = today(redis);
    RawAccount(redis, "low", {"per_minute", "7"}).set_state(now);   // 5 of 7
    RawAccount(redis, "high", {"per_minute", "6"}).set_state(now);  // 5 of 6
    RawAccount(redis, "month", {"per_month", "310"}).set_state(now);
    RawAccount(redis, "gone",
               {"per_minute", "5", "deleted", std::to_string(redis_now(redis))})
        .set_state(now);
    const auto over = [&](const std::string& percent) {
        std::set<std::string> found;
        for (const auto& each : usage(redis.url(), {"--over", percent})) {
            found.insert(each.at("account"));
        }
        return found;
    };
    CHECK(over("80") == std::set<std::string>{"high", "month"});
    CHECK(over("71") == std::set<std::string>{"high", "low", "month"});
    CHECK(over("97").empty());
    const auto table = ctl(redis.url(), {"usage", "--over", "80"}).out;
    CHECK(split(table, '\n').size() == 3);
    CHECK(contains(table, "minute"));
    CHECK(contains(table, "month"));
    CHECK(split(ctl(redis.url(), {"usage", "--over", "80", "--csv"}).out, '\n')
              .size()
          >= 3);
}

TEST_CASE("usage: options are checked")
{
    const RedisAtNoon host;
    const auto& redis = host.redis;
    make_store(redis);
    RawAccount(redis, "a1").used(today(redis) - 30, 4);
    for (const Words& wrong : {Words{"--by", "year"},
                               {"--from", "yesterday"},
                               {"--to", "2026-02-30"},
                               {"--last", "0"},
                               {"--last", "1001"},
                               {"--last", "x"},
                               {"--over", "0"},
                               {"--over", "101"},
                               {"--over", "80%"},
                               {"--from", "2026-11-02", "--to", "2026-11-01"},
                               {"--last", "3", "--from", "2026-11-01"},
                               {"--csv", "--json"}}) {
        INFO(wrong.front());
        Words words = {"usage"};
        words.insert(words.end(), wrong.begin(), wrong.end());
        CHECK(ctl(redis.url(), words).code == 2);
    }
    const auto unknown = ctl(redis.url(), {"usage", "no-such", "--json"});
    CHECK(unknown.code == 3);
    CHECK(json::parse(unknown.err).at("code") == "not_found");
    CHECK_FALSE(contains(unknown.err, "no-such"));
    for (const char* form : {"--json", "--csv", "--by=month"}) {
        INFO(form);
        const auto partial = ctl(redis.url(), {"usage", "a1", "no-such", form});
        CHECK(partial.code == 3);
        CHECK(partial.out.empty());
        CHECK(contains(partial.err, "ACCOUNT 2: there is no such account"));
        CHECK(contains(partial.err, "an external id needs --external-id"));
    }
    CHECK(ctl(redis.url(), {"usage", "--external-id", "none-has-it"}).code
          == 3);
    CHECK(ctl(redis.url(), {"usage", "--external-id", "a b"}).code == 2);

    const auto first = [&](const Words& options) {
        Words words = {"a1"};
        words.insert(words.end(), options.begin(), options.end());
        const auto days = usage(redis.url(), words).at("days");
        return days.empty() ? "" : days.at(0).at("date").get<std::string>();
    };
    const long long now = today(redis);
    CHECK(first({"--from", "30d"}) == date(now - 30));
    CHECK(first({"--from", "30000d"}) == date(now - 90));
    const auto twice =
        ctl(redis.url(), {"usage", "a1", "a1", "--csv", "--last", "1"}).out;
    CHECK(count_of(twice, "\n") == 2);
    CHECK(first({"--last", "7"}) == date(now - 6));
    CHECK(first({"--from", date(now - 2) + "T23:59:59-12:00"})
          == date(now - 1));
    CHECK(first({}) == month(now) + "-01");
    CHECK(first({"--to", date(now + 40)}) == month(now) + "-01");
    CHECK(first({"--from", "0001-01-01"}) == date(now - 90));
}

TEST_CASE("usage: the period is one by Redis's clock")
{
    ClockedRedis host;
    make_store(host.redis);
    RawAccount(host.redis, "a1");
    host.set_time("2040-05-17 12:00:00");
    CHECK(ctl(host.redis.url(), {"usage", "--from", "2040-05-16"}).code == 0);
    // The clock of the caller may be ahead of Redis's.
    const auto next =
        ctl(host.redis.url(), {"usage", "--csv", "--from", "2040-05-18"});
    CHECK(next.code == 0);
    CHECK(count_of(next.out, "\n") == 1);
    CHECK(ctl(host.redis.url(),
              {"usage", "--from", "2040-05-19", "--to", "2040-05-18"})
              .code
          == 2);
}

TEST_CASE("usage: a month is kept whole, also of a deleted account")
{
    ClockedRedis host;
    host.set_time("2026-11-01 12:00:00");
    const auto key = create_key(host.redis);
    const auto deleted = create_key(host.redis);
    {
        NginxOptions options;
        options.redis = host.redis.url();
        NginxServer nginx(options);
        const auto request = [&](const Key& each) {
            Http http(nginx.url(), each.secret);
            REQUIRE(
                wait_until([&] { return http.get("/v1/pets").status == 200; }));
        };
        request(key);
        request(deleted);
        host.set_time("2026-11-02 12:00:00");
        request(key);
        request(deleted);
    }
    for (const Words& words :
         {Words{"key", "delete", deleted.id},
          {"account", "delete", deleted.account, "--yes"}}) {
        CHECK(ctl(host.redis.url(), words).code <= 3);
    }
    // The month's end is 399 days ago, its last charge 427.
    host.set_time("2028-01-03 11:00:00");
    const auto before =
        usage(host.redis.url(), {"--by", "month", "--from", "2026-11-01"});
    CHECK(before.size() == 2);
    for (const auto& account : before) {
        CHECK(account.at("months").at(0) == count("month", "2026-11", 2));
    }
}

TEST_CASE("usage: deleted accounts are included")
{
    const RedisAtNoon host;
    const auto& redis = host.redis;
    make_store(redis);
    const long long now = today(redis);
    const RawAccount gone(redis, "gone",
                          {"external_id", "old", "deleted",
                           std::to_string((now - 40) * kDay + 7)});
    gone.used(now - 45, 6);
    CHECK(usage(redis.url(), {"gone", "--from", "45d"}).at("days").size() == 6);
    CHECK(contains(ctl(redis.url(), {"usage", "--csv", "--from", "45d"}).out,
                   "gone,old,,free," + date(now - 45) + ",6,0\n"));
    // Not where it had ceased to exist.
    CHECK_FALSE(
        contains(ctl(redis.url(), {"usage", "--last", "3"}).out, "gone"));
    // Unless it is named.
    RawAccount(redis, "live");
    for (const Words& names : {Words{"gone", "live"}, {"live", "gone"}}) {
        Words words = names;
        words.insert(words.end(), {"--last", "3"});
        const auto named = usage(redis.url(), words);
        REQUIRE(named.size() == 2);
        CHECK(named.at(0).at("account") == names[0]);
        CHECK(named.at(1).at("account") == names[1]);
    }
    CHECK(ctl(redis.url(), {"account", "show", "gone"}).code == 3);
    CHECK_FALSE(contains(ctl(redis.url(), {"account", "list"}).out, "gone"));
}

TEST_CASE("usage: a terminal shows the progress")
{
    RedisServer redis;
    make_store(redis);
    auto client = redis.client();
    for (int i = 0; i < 3000; ++i) {
        const std::string id = "acc" + std::to_string(i);
        client.command({"HSET", "petstore:account:" + id, "id", id, "created",
                        "1700000000", "epoch", "1"});
        client.command({"HSET", "petstore:accounts", id, "1700000000"});
    }
    const auto shown = on_terminal(redis.url(), "usage");
    CHECK(shown.code == 0);
    CHECK(contains(shown.out, "[#########"));
    CHECK(contains(shown.out, " accounts, "));
    CHECK(contains(shown.out, "acc2999"));
    CHECK_FALSE(contains(on_terminal(redis.url(), "usage --csv").out, "[###"));
    CHECK(usage(redis.url(), {}).size() == 3001);
}

TEST_CASE("usage: in a Cluster and with two Redis")
{
    const auto check = [](const Output& output, const Key& key) {
        INFO(output.err);
        CHECK(output.code == 0);
        CHECK(contains(output.out, key.account + ",,"));
        CHECK(contains(output.out, ",3,0\n"));
    };
    const auto send = [](Http& http) {
        for (int i = 0; i < 3; ++i) {
            REQUIRE(http.get("/v1/pets").status == 200);
        }
    };
    const Words today = {"usage", "--csv", "--last", "1"};
    SECTION("Cluster")
    {
        ClusterServers cluster;
        const auto made = ctl(cluster.url(), {"key", "create", "--json"});
        REQUIRE(made.code == 0);
        const auto object = json::parse(made.out);
        const Key key{object.at("key"), object.at("id"), object.at("account")};
        remember_secret(key.secret);
        NginxOptions options;
        options.redis = cluster.url();
        NginxServer nginx(options);
        Http http(nginx.url(), key.secret);
        send(http);
        check(ctl(cluster.url(), today), key);
    }
    SECTION("two Redis")
    {
        TwoRedis two;
        const auto key = two.create_key();
        NginxServer nginx(two.with());
        Http http(nginx.url(), key.secret);
        send(http);
        check(two.ctl(today), key);
    }
}
