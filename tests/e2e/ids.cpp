// Ids name one pet for ever, whatever Redis loses.
#include <sys/stat.h>

#include <fstream>

#include "support/limits.h"
#include "support/replicas.h"
#include "support/store.h"
#include "support/unique_ids.h"

using namespace petstore::e2e;

namespace {

constexpr const char* kRex = R"({"name":"Rex","categoryId":7})";
const std::string kSegments = "petstore:{petstore:pets}:segments";

long long create(Http& http)
{
    const auto response = http.post("/v1/pets", kRex);
    REQUIRE(response.status == 201);
    const long long id = response.json().at("id");
    CHECK(response.header("location") == "/v1/pets/" + std::to_string(id));
    return id;
}

// 28 characters each, and 40 for the replication id.
std::size_t segments(const RedisServer& redis)
{
    return (redis.command({"GET", kSegments}).text.size() - 40) / 28;
}

}  // namespace

TEST_CASE("ids: none is given twice after crashes that lost pets")
{
    check_ids_after_crashes(3);
}

TEST_CASE("ids: none is given twice if a dump is restored twice")
{
    check_ids_after_restores(2);
}

TEST_CASE("ids: none is given on both sides of a partition")
{
    check_ids_after_partitions(2);
}

TEST_CASE("ids: none is given twice after a failover by Sentinels")
{
    check_ids_behind_sentinels(1, true);
}

TEST_CASE("ids: none is given twice after a failover in a Cluster")
{
    check_ids_in_cluster(1);
}

TEST_CASE(
    "ids: they are consecutive, and go on from Redis's clock after a restart")
{
    Store store;
    for (long long id = 1; id <= 130; ++id) {
        REQUIRE(create(store.http) == id);
    }
    REQUIRE(segments(store.redis) == 1);
    store.redis.restart();
    const auto time = store.redis.command({"TIME"});
    const auto now = std::stoll(time.items.at(0).text) * 1'000'000;
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets").status == 200; }));
    const long long first = create(store.http);
    CHECK(first >= now);
    CHECK(first < now + 60'000'000);
    CHECK(create(store.http) == first + 1);
    CHECK(segments(store.redis) == 2);

    // Every way to find a pet knows the gap.
    CHECK(store.http.get("/v1/pets/130").json().at("id") == 130);
    CHECK(store.http.get("/v1/pets/" + std::to_string(first + 1)).status
          == 200);
    for (const long long none : {131LL, first - 1, first + 2}) {
        expect_error(store.http.get("/v1/pets/" + std::to_string(none)), 404,
                     "pet_not_found");
    }
    std::vector<long long> ids;
    for (const auto& row : walk(store.http, "/v1/pets?limit=100")) {
        ids.push_back(row.at("id"));
    }
    REQUIRE(ids.size() == 132);
    CHECK(ids[129] == 130);
    CHECK(ids[130] == first);
    CHECK(ids[131] == first + 1);
    std::vector<long long> filtered;
    for (const auto& row :
         walk(store.http, "/v1/pets?limit=7&status=available")) {
        filtered.push_back(row.at("id"));
    }
    CHECK(filtered == ids);
    const auto changed =
        ctl(store.redis.url(),
            {"pet", "set-status", std::to_string(first), "sold"});
    CHECK(changed.code == 0);
    const auto sold = store.http.get("/v1/pets?status=sold").json();
    REQUIRE(sold.size() == 1);
    CHECK(sold[0].at("id") == first);
    CHECK(ctl(store.redis.url(), {"pet", "set-status", "131", "sold"}).code
          == 3);
}

TEST_CASE("ids: a first replica starts a segment, and creates go on")
{
    RedisServer primary(kReplicated);
    RedisServer replica(kReplicated);
    const Key key = create_key(primary);
    NginxOptions options;
    options.redis = primary.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(create(http) == 1);
    follow(replica, primary);
    // Within a second, the worker learns of the new replication id.
    REQUIRE(wait_until([&] { return create(http) > 1'000'000; }));
    CHECK(segments(primary) == 2);
    const long long next = create(http);
    CHECK(create(http) == next + 1);
    CHECK(http.get("/v1/pets?limit=1").json()[0].at("id") == 1);
}

TEST_CASE("ids: a create after a pause knows of a failover and back")
{
    RedisServer first(kReplicated);
    const RedisServer second(kReplicated);
    const RedisServer third(kReplicated);
    const bool over_tcp = GENERATE(false, true);
    INFO("over TCP: " << over_tcp);
    const Key key = create_key(first);
    follow(second, first);
    follow(third, first);
    NginxOptions options;
    options.redis = over_tcp ? first.tcp_url() : first.url();
    // Then a connection carries nothing but creates.
    options.location =
        "petstore_durability replicas=1; petstore_redis_connect_timeout 10s; petstore_redis_timeout 10s;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(create(http) == 1);
    // Perhaps only the third one has confirmed it.
    REQUIRE(wait_until([&] {
        return second.command({"GET", "petstore:{petstore:pets}:count"}).text
               == "1";
    }));
    promote(second);
    const long long lost = create(http);
    CHECK(lost == 2);

    // Less than two seconds, after which a connection over TCP must prove that
    // it still works.
    const auto until = Clock::now() + 1100ms;
    follow(first, second);
    promote(first);
    follow(third, first);
    wait_until([&] { return Clock::now() >= until; });
    CHECK(create(http) > 1'000'000);
    expect_error(http.get("/v1/pets/" + std::to_string(lost)), 404,
                 "pet_not_found");
    CHECK_FALSE(contains(nginx.error_log(), "[error]"));
}

TEST_CASE("ids: an idempotency record keeps the id over a restart")
{
    Store store;
    store.redis.restart();
    const Headers once = {{"Idempotency-Key", "k"}};
    Response first;
    REQUIRE(wait_until([&] {
        first = store.http.post("/v1/pets", kRex, once);
        return first.status == 201;
    }));
    store.redis.restart();
    Response again;
    REQUIRE(wait_until([&] {
        again = store.http.post("/v1/pets", kRex, once);
        return again.status == 201;
    }));
    CHECK(again.body == first.body);
    CHECK(again.header("location") == first.header("location"));
    CHECK(again.header("idempotent-replayed") == "true");
}

TEST_CASE("ids: data restored into a running Redis need cache clear")
{
    Store store;
    CHECK(create(store.http) == 1);
    const std::string prefix = "petstore:{petstore:pets}:";
    std::vector<std::pair<std::string, std::string>> dump;
    for (const auto& name : store.redis.command({"KEYS", prefix + "*"}).items) {
        dump.emplace_back(name.text,
                          store.redis.command({"DUMP", name.text}).text);
    }
    CHECK(create(store.http) == 2);
    for (const auto& [name, value] : dump) {
        store.redis.command({"RESTORE", name, "0", value, "REPLACE"});
    }
    CHECK(ctl(store.redis.url(), {"cache", "clear"}).code == 0);
    expect_error(store.http.get("/v1/pets/2"), 404, "pet_not_found");
    CHECK(create(store.http) > 1'000'000);
    expect_error(store.http.get("/v1/pets/2"), 404, "pet_not_found");
    CHECK(store.http.get("/v1/pets/1").status == 200);
}

TEST_CASE("ids: damaged segments fail every read, and are reported")
{
    Store store;
    CHECK(create(store.http) == 1);
    for (const Words& damage :
         {Words{"SET", kSegments, "x"}, Words{"DEL", kSegments},
          Words{"SET", kSegments,
                "0000000001:0000000000000009 0000000002:0000000000000003 "
                    + std::string(40, 'a')}}) {
        CAPTURE(damage);
        store.redis.command(damage);
        store.redis.command({"INCR", "petstore:{petstore:pets}:changes"});
        for (const char* path : {"/v1/pets", "/v1/pets/1"}) {
            expect_error(store.http.get(path), 500, "internal_error");
        }
        CHECK(contains(store.nginx.error_log(), kSegments + " is damaged"));
        const auto exported = ctl(store.redis.url(), {"pet", "export"});
        CHECK(exported.code == 1);
        CHECK(contains(exported.err, kSegments));
    }
}

TEST_CASE("ids: where Redis forbids INFO, those of restored data stay theirs")
{
    const RedisServer redis({"rename-command INFO \"\""});
    const auto last = [&] {
        return nlohmann::json::parse(
                   split(ctl(redis.url(), {"pet", "export"}).out, '\n').back())
            .at("id")
            .get<long long>();
    };
    const std::string pet = R"({"id":5,"name":"Rex","categoryId":7})";
    CHECK(
        ctl(redis.url(), {"pet", "import", "--keep-ids", "-"}, pet + "\n").code
        == 0);
    CHECK(last() == 5);
    long long before = 1'000'000'000'000'000;  // microseconds
    for (int i = 0; i < 2; ++i) {
        CHECK(ctl(redis.url(), {"pet", "import", "-"},
                  std::string(R"({"name":"Rex","categoryId":7})") + "\n")
                  .code
              == 0);
        CHECK(last() > before + 1);
        before = last();
        CHECK(ctl(redis.url(), {"cache", "clear"}).code == 0);
    }
    // Above what the clock gives for a hundred years.
    const std::string late =
        R"({"id":4000000000000000,"name":"Rex","categoryId":7})";
    redis.command({"FLUSHALL"});
    CHECK(
        ctl(redis.url(), {"pet", "import", "--keep-ids", "-"}, late + "\n").code
        == 0);
    CHECK(ctl(redis.url(), {"pet", "import", "-"},
              std::string(R"({"name":"Rex","categoryId":7})") + "\n")
              .code
          == 0);
    CHECK(last() == 4'000'000'000'000'001 + 0x100000);
}

TEST_CASE("ids: an export knows a segment that begins while it runs")
{
    Store store;
    import_pets(store.redis, 7'000);
    const TempDir dir;
    const std::string pipe = dir.path() + "/pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    Process exporting(
        {{ctl_binary(), "--redis", store.redis.url(), "pet", "export", pipe},
         {},
         "",
         "",
         ""});
    std::ifstream exported(pipe);
    std::string line;
    REQUIRE(std::getline(exported, line));
    // What it has read is more than the pipe takes.
    REQUIRE(ctl(store.redis.url(), {"cache", "clear"}).code == 0);
    const auto id = create(store.http);
    REQUIRE(id > 7'001);
    int lines = 1;
    for (std::string next; std::getline(exported, next); ++lines) {
        line = next;
    }
    CHECK(exporting.wait(60s) == 0);
    CHECK(lines == 7'001);
    CHECK(contains(line, "{\"id\":" + std::to_string(id) + ","));
}

TEST_CASE("ids: an import with --keep-ids restores an export and its gaps")
{
    Store store;
    const auto& redis = store.redis;
    for (int i = 0; i < 130; ++i) {
        create(store.http);
    }
    redis.command({"SET", kSegments,
                   "0000000001:0000000000000005 0000000100:0000000000000900 "
                       + std::string(40, 'a')});
    ctl(redis.url(), {"cache", "clear"});
    const long long last = create(store.http);
    const auto exported = ctl(redis.url(), {"pet", "export"}).out;
    CHECK(contains(exported, "{\"id\":103,"));
    CHECK(contains(exported, "{\"id\":900,"));
    CHECK(contains(exported, "{\"id\":930,"));
    CHECK(contains(exported, "{\"id\":" + std::to_string(last) + ","));
    const auto import = [&](const std::string& lines) {
        return ctl(redis.url(), {"pet", "import", "--keep-ids", "-"}, lines);
    };

    const auto refused = import(exported);
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "catalogue without other pets"));
    CHECK(ctl(redis.url(), {"pet", "export"}).out == exported);

    for (const auto& name :
         redis.command({"KEYS", "petstore:{petstore:pets}:*"}).items) {
        redis.command({"DEL", name.text});
    }
    const auto imported = import(exported);
    CHECK(imported.code == 0);
    CHECK(contains(imported.out + imported.err, "imported 131 pets"));
    CHECK(ctl(redis.url(), {"pet", "export"}).out == exported);
    ctl(redis.url(), {"cache", "clear"});
    CHECK(store.http.get("/v1/pets/900").json().at("id") == 900);
    expect_error(store.http.get("/v1/pets/104"), 404, "pet_not_found");
    // Not the next one, which may have been given after the export.
    const long long next = create(store.http);
    CHECK(next > last + 1);
    CHECK(create(store.http) == next + 1);
    CHECK(import("{\"id\":" + std::to_string(next + 1000)
                 + R"(,"name":"Rex","categoryId":1})" + "\n")
              .code
          == 1);
}

TEST_CASE("ids: an import with many gaps copies no segments")
{
    RedisServer redis;
    constexpr int kPets = 1000;
    std::string lines;
    for (int i = 1; i <= kPets; ++i) {
        lines += R"({"id":)" + std::to_string(3 * i)
                 + R"(,"name":"Rex","categoryId":1,"status":"available"})"
                   "\n";
    }
    redis.command({"CONFIG", "RESETSTAT"});
    REQUIRE(ctl(redis.url(), {"pet", "import", "--keep-ids", "-"}, lines).code
            == 0);
    const auto segments = redis.command({"GET", kSegments}).text;
    CHECK(segments.size() == 28 * kPets + 40);
    CHECK(contains(segments, " 0000001000:0000000000003000 ="));
    // Of each segment but the first: its length, and the new entry.
    auto counts = command_counts(redis);
    CHECK(counts["setrange"] == 2 * (kPets - 1));
    CHECK(counts["get"] <= kPets + 10);  // `changes` each time
    CHECK(ctl(redis.url(), {"pet", "export"}).out == lines);
}

TEST_CASE("ids: those of a file must ascend")
{
    RedisServer redis;
    const auto line = [](const std::string& id) {
        return "{" + id + R"("name":"Rex","categoryId":1})" + "\n";
    };
    const auto import = [&](const std::string& lines) {
        redis.command({"FLUSHALL"});
        return ctl(redis.url(), {"pet", "import", "--keep-ids", "-"}, lines);
    };
    for (const char* wrong :
         {"", R"("id":7,)", R"("id":6,)", R"("id":0,)", R"("id":-8,)",
          R"("id":"8",)", R"("id":9007199254740993,)"}) {
        CAPTURE(wrong);
        const auto result = import(line(R"("id":3,)") + line(R"("id":7,)")
                                   + line(wrong) + line(R"("id":9,)"));
        CHECK(result.code == 1);
        CHECK(contains(result.err, "imported 2 pets"));
        CHECK(contains(result.err, "line 3: id must be"));
        CHECK(ctl(redis.url(), {"pet", "export"}).out
              == pet_json(3, "Rex", "1", "available") + "\n"
                     + pet_json(7, "Rex", "1", "available") + "\n");
    }
}

TEST_CASE("ids: doctor warns of many segments, and of damaged ones")
{
    Store store;
    create(store.http);
    const auto doctor = [&] { return ctl(store.redis.url(), {"doctor"}).out; };
    CHECK_FALSE(contains(doctor(), "segments"));
    std::string many;
    for (int i = 1; i <= 1000; ++i) {
        const auto number = std::to_string(100'000'000 + i);
        many += "0" + std::string(number).replace(0, 1, "0") + ":0000000"
                + std::string(number).replace(0, 1, "0") + " ";
    }
    store.redis.command({"SET", kSegments, many + std::string(40, 'a')});
    CHECK(contains(doctor(), "1000 segments of ids"));
    store.redis.command({"SET", kSegments, many});
    CHECK(contains(doctor(), "the Redis key " + kSegments + " is damaged"));
}
