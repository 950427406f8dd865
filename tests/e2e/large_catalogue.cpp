// Catalogues of up to 4,000,000,000 pets, of which only a few exist: searches
// that must be split into several Redis commands, and the end of the ids.
#include <map>

#include "support/sparse_catalogue.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

constexpr long long kPets = 100'000'000;
constexpr long long kMost = 4'000'000'000;
const char* const kPet = R"({"name":"Rex","categoryId":7,"status":"sold"})";
const std::string kFullLine = "petstore: the catalogue is full";

std::string row(long long id)
{
    return pet_json(id, "x", "1", "sold");
}

std::map<std::string, std::string> contents(const RedisServer& redis)
{
    std::map<std::string, std::string> all;
    for (const auto& name :
         redis.command({"KEYS", SparseCatalogue::key("*")}).items) {
        all[name.text] = redis.command({"DUMP", name.text}).text;
    }
    return all;
}

// The number of search script calls, and of BITPOS calls in them.
struct Calls {
    int scripts = 0;
    int bitpos = 0;
    long long most_bits = 0;  // scanned by one BITPOS
};

Calls calls_of(Monitor& monitor)
{
    Calls calls;
    for (const auto& command : monitor.commands()) {
        const auto words = split(command.line, '"');
        if (command.name == "EVALSHA" || command.name == "EVAL") {
            // Not the limiter's script, which takes no bitmap.
            calls.scripts += contains(command.line, "status:sold") ? 1 : 0;
        } else if (command.name == "BITPOS") {
            ++calls.bitpos;
            REQUIRE(words.size() > 9);
            const auto start = std::stoll(words[7]);
            const auto end = std::stoll(words[9]);
            if (start >= 0) {
                REQUIRE(end >= 0);
                calls.most_bits = std::max(calls.most_bits, end - start + 1);
            }
        }
    }
    return calls;
}

std::string finding(const RedisServer& redis, const std::string& member)
{
    const auto result = ctl(redis.url(), {"doctor", "--json"});
    for (const auto& each : nlohmann::json::parse(result.out)) {
        if (each.at("check") == "pets") {
            return each.at(member);
        }
    }
    return "";
}

}  // namespace

TEST_CASE("large catalogue: a page of a rare status takes several commands")
{
    Store store;
    SparseCatalogue sparse(store.redis, kPets);
    sparse.place(5);
    sparse.place(kPets);
    store.http.get("/v1/pets/5");  // the worker learns the version
    // Redis loses its scripts: any call may have to send the script's text.
    store.redis.command({"SCRIPT", "FLUSH"});
    store.http.get("/v1/pets/5");
    Monitor monitor(store.redis);
    expect_json(store.http.get("/v1/pets?status=sold&limit=3"), 200,
                "[" + row(5) + "," + row(kPets) + "]");
    auto calls = calls_of(monitor);
    CHECK(calls.scripts == 12 + 1);  // including NOSCRIPT
    CHECK(calls.most_bits <= 8'388'615);

    // Served from the worker's memory.
    store.http.get("/v1/pets?status=sold&limit=3");
    CHECK(calls_of(monitor).scripts == 0);

    // A full page ends the search. A status without a bitmap needs no search.
    const auto first = store.http.get("/v1/pets?status=sold&limit=1");
    CHECK(first.body == "[" + row(5) + "]");
    CHECK(calls_of(monitor).scripts == 12);
    CHECK(store.http.get(next_of(first)).body == "[" + row(kPets) + "]");
    CHECK(calls_of(monitor).scripts == 12);
    CHECK(store.http.get("/v1/pets?status=pending").body == "[]");
    calls = calls_of(monitor);
    CHECK(calls.bitpos == 2);

    // A change is visible wherever it is.
    sparse.need_bucket(50'000'000);
    REQUIRE(
        ctl(store.redis.url(), {"pet", "set-status", "50000000", "sold"}).code
        == 0);
    CHECK(store.http.get("/v1/pets?status=sold&limit=3").body
          == "[" + row(5) + "," + row(50'000'000) + "," + row(kPets) + "]");
}

TEST_CASE("large catalogue: 8 million pets take one command")
{
    Store store;
    SparseCatalogue sparse(store.redis, 8'000'000);
    sparse.place(5);
    sparse.place(7'999'999);
    store.http.get("/v1/pets/5");
    store.http.get("/v1/pets?status=sold&limit=1");
    Monitor monitor(store.redis);
    CHECK(store.http.get("/v1/pets?status=sold&limit=3").body
          == "[" + row(5) + "," + row(7'999'999) + "]");
    const auto calls = calls_of(monitor);
    CHECK(calls.scripts == 1);
    CHECK(calls.bitpos == 3);  // one per pet, and one that finds no more
}

TEST_CASE("large catalogue: ids beyond the last pet")
{
    Store store;
    SparseCatalogue sparse(store.redis, kMost);
    sparse.need_bucket(kMost);
    CHECK(store.http.get("/v1/pets/4000000000").status == 200);
    for (const char* id : {"4000000001", "4294967295", "4294967296",
                           "9007199254740993", "9223372036854775807"}) {
        INFO(id);
        expect_error(store.http.get(std::string("/v1/pets/") + id), 404,
                     "pet_not_found");
    }
}

TEST_CASE("large catalogue: a create in a full one is refused and logged")
{
    Store store;
    SparseCatalogue sparse(store.redis, kMost);
    sparse.need_bucket(kMost);
    const auto before = contents(store.redis);
    for (int i = 0; i < 3; ++i) {
        CHECK(expect_error(store.http.post("/v1/pets", kPet), 503,
                           "service_unavailable")
              == "The catalogue is full: no more pets can be created.");
    }
    CHECK(contents(store.redis) == before);
    const auto log = store.nginx.error_log();
    CHECK(contains(log, kFullLine));
    CHECK_FALSE(contains(log, "damaged"));
    // All other requests are served.
    CHECK(store.http.get("/v1/pets/4000000000").status == 200);

    const auto imported = ctl(store.redis.url(), {"pet", "import", "-"},
                              std::string(kPet) + "\n" + kPet + "\n");
    CHECK(imported.code == 1);
    CHECK(contains(
        imported.err,
        "imported 0 pets; line 1: Redis: FULL the catalogue has 4000000000 pets, the most it can have"));
    CHECK(contents(store.redis) == before);
}

TEST_CASE("large catalogue: reaching proto-max-bulk-len is not damage")
{
    Store store;
    constexpr long long kBits = 8 * 1024 * 1024;
    store.redis.command({"CONFIG", "SET", "proto-max-bulk-len", "1mb"});
    SparseCatalogue sparse(store.redis, kBits - 1);
    sparse.need_bucket(kBits - 1);
    const auto before = contents(store.redis);
    expect_error(store.http.post("/v1/pets", kPet), 503, "service_unavailable");
    CHECK(contents(store.redis) == before);
    CHECK(contains(store.nginx.error_log(), kFullLine));
    CHECK_FALSE(contains(store.nginx.error_log(), "damaged"));

    SparseCatalogue(store.redis, kBits).need_bucket(kBits);
    store.redis.command({"RPUSH", SparseCatalogue::bucket(kBits), "a1:x"});
    const auto changed =
        ctl(store.redis.url(),
            {"pet", "set-status", std::to_string(kBits), "sold"});
    CHECK(changed.code == 1);
    CHECK(contains(changed.err, "proto-max-bulk-len"));
    CHECK_FALSE(contains(changed.err, "damaged"));
}

TEST_CASE("large catalogue: doctor warns before it is full")
{
    RedisServer redis;
    redis.command({"SET", "petstore:limits", "elsewhere-format-2"});
    CHECK(finding(redis, "verdict") == "");  // no pets
    const auto verdict_at = [&](long long pets) {
        SparseCatalogue sparse(redis, pets);
        return finding(redis, "verdict");
    };
    CHECK(verdict_at(1) == "ok");
    CHECK(verdict_at(2'999'999'999) == "ok");
    CHECK(verdict_at(3'000'000'000) == "warning");
    CHECK(contains(finding(redis, "advice"), "creates will be refused"));
    CHECK(verdict_at(kMost) == "warning");
    CHECK(contains(finding(redis, "advice"), "creates are refused"));
    CHECK(finding(redis, "found") == "4000000000 of at most 4000000000");

    CHECK(verdict_at(1) == "ok");
    redis.command({"CONFIG", "SET", "proto-max-bulk-len", "1mb"});
    CHECK(finding(redis, "verdict") == "warning");
    CHECK(finding(redis, "found") == "1 of at most 8388607");
    CHECK(contains(finding(redis, "advice"), "proto-max-bulk-len"));
    // CONFIG may be forbidden.
    redis.command({"ACL", "SETUSER", "default", "-config"});
    CHECK(finding(redis, "verdict") == "ok");
}
