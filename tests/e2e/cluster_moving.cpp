// A Redis Cluster whose slots move under load.
#include <future>

#include "chaos/fake_redis.h"
#include "support/cluster_world.h"
#include "support/writers.h"

using namespace petstore::e2e;

namespace {

constexpr char kPet[] = "{\"name\":\"n\",\"categoryId\":1}";

void check_undisturbed(Readers& readers, const ClusterWorld& world)
{
    readers.end();
    INFO(readers.first_strange());
    CHECK(readers.refused() == 0);
    CHECK(readers.strange() == 0);
    CHECK(world.same_workers());
    std::string errors;
    for (const auto& line : split(world.nginx.error_log(), '\n')) {
        errors += contains(line, "[error]") ? line + "\n" : "";
    }
    CHECK(errors == "");
}

}  // namespace

TEST_CASE("cluster: slots may alternate between servers")
{
    ClusterServers::Options servers;
    servers.primaries = 2;
    servers.replicas = false;
    const ClusterServers redis(servers);
    std::vector<int> odd;
    for (int slot = 1; slot < 4200; slot += 2) {
        odd.push_back(slot);
    }
    redis.move_slots(odd, 0, 1);
    const auto key = redis.create_key();
    NginxOptions options;
    options.redis = redis.url();
    const NginxServer nginx(options);
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    CHECK(count_of(nginx.error_log(), "[error]") == 0);
    CHECK(ctl(redis.url(), {"key", "list"}).code == 0);
}

TEST_CASE("cluster: a busy account's slot moves, and its limit stays exact")
{
    constexpr long long kLimit = 3000;
    ClusterWorld world;
    const auto from = world.other_primary();
    const auto to = world.catalogue_server();
    const auto key = world.redis.limited_key(kLimit, from);
    const auto slot = ClusterWorld::slot_of(key);
    const auto fresh = world.redis.limited_key(kLimit, from);
    Readers readers(world);
    REQUIRE(readers.continue_all());
    int moves = 0;
    {
        bool there = false;
        Meanwhile moving(50ms, [&] {
            const auto a = there ? to : from;
            const auto b = there ? from : to;
            world.redis.begin_move(slot, a, b);
            // Accounts without a state are created at the new primary.
            world.redis.move_keys(slot, a, b);
            world.redis.end_move(slot, b);
            there = !there;
            ++moves;
        });
        const auto answers = world.exhaust(key, kLimit);
        moving.end();
        check_exact(answers, kLimit);
    }
    CHECK(moves >= 3);
    WARN(moves << " moves");
    CHECK(readers.continue_all());
    check_undisturbed(readers, world);
}

TEST_CASE("cluster: many slots move, and a server comes and goes")
{
    constexpr long long kLimit = 5000;
    constexpr std::size_t kMany = 1500;
    constexpr std::size_t kFew = 30;
    ClusterWorld world;
    const auto from = world.other_primary();
    const auto to = 3 - from - world.catalogue_server();
    const auto key = world.redis.limited_key(kLimit, from);
    Readers readers(world);
    REQUIRE(readers.continue_all());
    auto slots = world.redis.slots_of(from);
    // Slots that hold keys first: the readers' accounts, and this one.
    std::stable_partition(slots.begin(), slots.end(), [&](int slot) {
        return slot == ClusterWorld::slot_of(key)
               || world.redis.server(from)
                          .command({"CLUSTER", "COUNTKEYSINSLOT",
                                    std::to_string(slot)})
                          .integer
                      > 0;
    });
    slots.resize(kMany);
    auto spending = std::async(std::launch::async,
                               [&] { return world.exhaust(key, kLimit); });
    world.redis.move_slots(slots, from, to);
    CHECK(readers.continue_all());

    const auto added = world.redis.add();
    slots.resize(kFew);
    world.redis.move_slots(slots, to, added);
    CHECK(world.redis.slots_of(added).size() == kFew);
    CHECK(readers.continue_all());
    world.redis.move_slots(slots, added, from);
    world.redis.remove(added);
    CHECK(readers.continue_all());
    check_exact(spending.get(), kLimit);
    check_undisturbed(readers, world);
}

TEST_CASE("cluster: usage is exact while its slot moves between two days")
{
    NginxOptions options;
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 5s;";
    ClusterWorld world({}, options);
    auto from = world.other_primary();
    auto to = world.catalogue_server();
    const auto key = world.redis.limited_key(1'000'000, from);
    const auto slot = ClusterWorld::slot_of(key);
    const auto ask = [&] {
        return Http(world.nginx.url(), key.secret).get("/v1/pets").status;
    };
    // The next charge moves what was used until then into the ledger.
    const auto end_day = [&] {
        auto& server = world.redis.server(from);
        const auto yesterday = redis_now(server) / 86'400 - 1;
        set_number(server, key, Number::utc_day, yesterday);
        set_number(server, key, Number::usual_day, yesterday);
    };
    const auto usage =
        "usage:" + month_text(redis_now(world.redis.server(from)) - 86'400);
    long long admitted = 0;
    for (int i = 0; i < 3; ++i) {
        admitted += ask() == 200;
    }
    end_day();
    admitted += ask() == 200;
    REQUIRE(admitted == 4);
    for (const std::string& first :
         {std::string("state"), usage, usage, std::string("state")}) {
        CAPTURE(first);
        end_day();
        world.redis.begin_move(slot, from, to);
        world.redis.move_key(account_key(key, first), from, to);
        const auto errors = [&] {
            return world.redis.server(from).info("total_error_replies")
                   + world.redis.server(to).info("total_error_replies");
        };
        const auto before = errors();
        auto answer = std::async(std::launch::async, ask);
        CHECK(wait_until([&] { return errors() >= before + 5; }));
        world.redis.move_keys(slot, from, to);
        world.redis.end_move(slot, to);
        const auto status = answer.get();
        CHECK(status == 200);
        admitted += status == 200;
        CHECK(usage_of(world.redis.server(to), key) == admitted);
        std::swap(from, to);
    }
    CHECK(world.same_workers());
}

TEST_CASE(
    "cluster: a pet that begins a segment is created once in a moving slot")
{
    ClusterWorld world;
    // The next pet begins one, and there is no change log.
    REQUIRE(ctl(world.redis.url(), {"cache", "clear"}).code == 0);
    const auto slot = ClusterWorld::catalogue_slot();
    world.redis.begin_move(slot, world.catalogue_server(),
                           world.other_primary());
    CHECK(world.http.post("/v1/pets", kPet).status == 201);
    CHECK(walk(world.http, "/v1/pets?limit=3").size() == 11);
}

TEST_CASE("cluster: a node that names ever new servers gets few connections")
{
    constexpr std::size_t kMost = 64;
    ClusterServers::Options one;
    one.primaries = 1;
    one.replicas = false;
    ClusterServers redis(one);
    const auto forward = forward_to(redis.server(0));
    std::vector<std::unique_ptr<FakeRedis>> named;
    for (std::size_t i = 0; i < kMost + 32; ++i) {
        named.push_back(
            std::make_unique<FakeRedis>(forward, FakeRedis::Socket::tcp));
    }
    std::atomic<bool> lies{false};
    std::atomic<std::size_t> next{0};
    FakeRedis node(
        [&](const Words& command) {
            return lies && command[0] == "EVALSHA"
                       ? FakeRedis::Answer{"-ASK 1 "
                                           + named[next++ % named.size()]
                                                 ->address()
                                           + "\r\n"}
                       : forward(command);
        },
        FakeRedis::Socket::tcp);
    const auto port = node.address().substr(node.address().rfind(':') + 1);
    redis.server(0).command({"CONFIG", "SET", "cluster-announce-port", port});
    const auto key = redis.limited_key(1'000'000);
    NginxOptions options;
    options.redis = "cluster " + node.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);

    lies = true;
    int served = 0;
    CHECK(wait_until([&] {
        served += http.get("/v1/pets").status == 200 ? 1 : 0;
        std::size_t open = 0;
        for (const auto& server : named) {
            open += static_cast<std::size_t>(server->open());
        }
        CHECK(open < named.size());  // closing takes a moment
        return contains(nginx.error_log(), "redirects to too many servers");
    }));
    CHECK(served > 0);
    lies = false;
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
}

TEST_CASE("cluster: the catalogue's slot moves")
{
    NginxOptions options;
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 2s;";
    ClusterWorld world({}, options);
    const auto slot = ClusterWorld::catalogue_slot();
    const auto from = world.catalogue_server();
    const auto to = world.other_primary();
    const std::string prefix = "petstore:{petstore:pets}:";

    // Half of the slot's keys have moved: commands that need both halves wait,
    // then fail.
    world.redis.begin_move(slot, from, to);
    world.redis.move_key(prefix + "count", from, to);
    for (int i = 0; i < 3; ++i) {
        const auto before = Clock::now();
        expect_error(world.http.post("/v1/pets", kPet), 503,
                     "service_unavailable");
        // The last attempt is made shortly before the timeout.
        CHECK(Clock::now() - before >= 1900ms);
    }
    expect_error(world.http.get("/v1/pets?limit=3"), 503,
                 "service_unavailable");
    CHECK(world.lines_with("answered with TRYAGAIN") >= 1);

    // Moves the keys that scripts declare, but not the pets.
    for (const char* name : {"changes", "segments", "status:available"}) {
        world.redis.move_key(prefix + name, from, to);
    }
    expect_error(world.http.post("/v1/pets", kPet), 503, "service_unavailable");
    expect_error(world.http.get("/v1/pets?status=available"), 503,
                 "service_unavailable");
    CHECK(walk(world.http, "/v1/pets?limit=3").size() == 10);
    CHECK(world.http.get("/v1/pets/7").body
          == pet_json(7, "pet 7", "7", "available"));
    CHECK(world.lines_with("is damaged") == 0);

    // Then the pets, too, so that each command is redirected.
    world.redis.move_key(prefix + "bucket:0", from, to);
    for (int i = 0; i < 4; ++i) {
        CHECK(walk(world.http, "/v1/pets?limit=3").size() == 10);
        CHECK(walk(world.http, "/v1/pets?status=available&limit=3").size()
              == 10);
        CHECK(world.http.get("/v1/pets/7").status == 200);
    }
    CHECK(world.lines_with("is damaged") == 0);

    // A waiting request continues when the move ends.
    auto finishing = std::async(std::launch::async, [&] {
        world.redis.move_keys(slot, from, to);
        world.redis.end_move(slot, to);
    });
    const bool continued = kept_by(Clock::now() + 5s, [&] {
        return world.http.post("/v1/pets", kPet).status == 201;
    });
    finishing.get();
    CHECK(continued);
    CHECK(walk(world.http, "/v1/pets?limit=3").size() == 11);
    CHECK(walk(world.http, "/v1/pets?status=available&limit=3").size() == 11);

    // Back and forth under load: no id is assigned twice, and nothing is lost.
    Readers readers(world);
    Writers writers(world.nginx, world.key, 2);
    REQUIRE(readers.continue_all());
    for (int i = 0; i < 4; ++i) {
        const auto a = i % 2 == 0 ? to : from;
        const auto b = i % 2 == 0 ? from : to;
        world.redis.move_slot(slot, a, b);
        CHECK(readers.continue_all());
    }
    writers.end();
    readers.end();
    const auto stored = compare(writers, world.nginx, world.key);
    CHECK(stored.lost == 0);
    CHECK(stored.ids_twice == 0);
    CHECK(stored.names_twice == 0);
    CHECK(writers.strange() == 0);
    INFO(readers.first_strange());
    CHECK(readers.strange() == 0);
    CHECK(world.same_workers());
    CHECK(world.lines_with("is damaged") == 0);
    CHECK(world.lines_with("[error]") == 0);
}
