// A changed status invalidates one bucket of 128 pets in the workers' caches,
// and no response ever shows the old status.
#include <algorithm>

#include "support/two_hosts.h"

using namespace petstore::e2e;

namespace {

using Names = std::vector<std::string>;

const std::string kCatalogue = "petstore:{petstore:pets}:";
const std::string kLog = kCatalogue + "change-log";

void set_status(const RedisServer& redis, long long id,
                const std::string& status)
{
    REQUIRE(
        ctl(redis.url(), {"pet", "set-status", std::to_string(id), status}).code
        == 0);
}

bool has(const Response& page, long long id)
{
    REQUIRE(page.status == 200);
    const auto pets = page.json();
    return std::any_of(pets.begin(), pets.end(),
                       [id](const auto& pet) { return pet["id"] == id; });
}

// Makes the worker cache all buckets and some responses.
void warm_up(Http& http, const std::vector<std::string>& paths)
{
    for (int i = 0; i < 3; ++i) {
        CHECK(walk(http, "/v1/pets").size() == 700);
        for (const auto& path : paths) {
            CHECK(http.get(path).status == 200);
        }
    }
}

// The path of the third page, counted from `path`.
std::string third_page(Http& http, const std::string& path)
{
    return next_of(http.get(next_of(http.get(path))));
}

}  // namespace

TEST_CASE("changed bucket: everything else is answered from memory")
{
    Store store;
    import_pets(store.redis, 700);
    auto& http = store.http;
    const std::vector<std::string> paths = {
        third_page(http, "/v1/pets?limit=90"),
        third_page(http, "/v1/pets?limit=90&status=sold"), "/v1/pets/129",
        "/v1/pets/700"};
    warm_up(http, paths);

    set_status(store.redis, 2, "sold");
    Monitor monitor(store.redis);
    // One read of the change log serves all.
    CHECK(http.get(paths[0]).status == 200);
    const auto commands = monitor.commands();
    CHECK(std::count_if(
              commands.begin(), commands.end(),
              [](const auto& command) { return contains(command.line, kLog); })
          == 1);
    for (int i = 0; i < 2; ++i) {
        for (const auto& path : paths) {
            INFO(path);
            monitor.names();
            CHECK(http.get(path).status == 200);
            CHECK(monitor.names() == Names{"EVALSHA"});
        }
    }
    // Pets of the changed bucket are read once more.
    CHECK(http.get("/v1/pets/2").json()["status"] == "sold");
    CHECK(http.get("/v1/pets/3").status == 200);
    CHECK(monitor.names().size() <= 4);
    CHECK(http.get("/v1/pets/4").status == 200);
    CHECK(has(http.get("/v1/pets?status=sold&limit=5"), 2));
    CHECK(monitor.names() == Names{"EVALSHA", "EVALSHA"});
}

TEST_CASE("changed bucket: each worker shows the change in its next response")
{
    TwoHosts hosts;
    import_pets(hosts.redis, 700);

    const std::string statuses[] = {"available", "pending", "sold"};
    for (int round = 0; round < 12; ++round) {
        const long long id = round % 3 == 0 ? 130 : 1 + round * 20;
        const auto& status = statuses[(round / 3 + id) % 3];
        set_status(hosts.redis, id, status);
        for (const auto& url : {hosts.one.url(), hosts.two.url()}) {
            for (int i = 0; i < 4; ++i) {  // new connections, so either worker
                Http http(url, hosts.key.secret);
                CHECK(
                    http.get("/v1/pets/" + std::to_string(id)).json()["status"]
                    == status);
                const auto page = http.get("/v1/pets?limit=100");
                CHECK(page.json().size() == 100);
                if (id <= 100) {
                    CHECK(
                        page.json()[static_cast<std::size_t>(id) - 1]["status"]
                        == status);
                }
                // Pages that span several buckets.
                for (const auto& filter : statuses) {
                    INFO(id << ' ' << status << ' ' << filter);
                    const auto rows =
                        http.get("/v1/pets?limit=100&status=" + filter);
                    REQUIRE(rows.json().size() == 100);
                    CHECK(rows.json()[99]["id"] > id);
                    CHECK(has(rows, id) == (filter == status));
                }
            }
        }
    }
}

TEST_CASE("changed bucket: a change without a log entry invalidates everything")
{
    Store store;
    import_pets(store.redis, 700);
    auto& http = store.http;
    warm_up(http, {"/v1/pets/2", "/v1/pets/700"});
    set_status(store.redis, 300, "pending");
    CHECK(http.get("/v1/pets/2").status == 200);

    // Like a change by an older petstorectl or an operator, except for the
    // bitmaps.
    store.redis.command({"LSET", kCatalogue + "bucket:0", "1", "s7:other"});
    SECTION("a higher number alone")
    {
        store.redis.command({"INCR", kCatalogue + "changes"});
    }
    SECTION("followed by a change with an entry")
    {
        store.redis.command({"INCR", kCatalogue + "changes"});
        set_status(store.redis, 300, "sold");
    }
    SECTION("without the log")
    {
        set_status(store.redis, 300, "sold");
        store.redis.command({"DEL", kLog});
    }
    SECTION("cache clear")
    {
        REQUIRE(ctl(store.redis.url(), {"cache", "clear"}).code == 0);
    }
    CHECK(http.get("/v1/pets/2").json()["name"] == "other");
    Monitor monitor(store.redis);
    CHECK(http.get("/v1/pets/700").status == 200);
    CHECK(monitor.names().size() == 2);  // read from Redis again
}
