// Kills Redis repeatedly while pets are created, with the only setting that
// loses nothing: appendfsync always.
#include "support/store.h"
#include "support/writers.h"

using namespace petstore::e2e;

TEST_CASE("redis killed: no acknowledged pet is lost")
{
    RedisServer redis({"appendfsync always"});
    const auto key = create_key(redis);
    NginxOptions options;
    options.redis = redis.url();
    options.workers = 2;
    options.location = "petstore_redis_timeout 10s;";  // a sync may take long
    NginxServer nginx(options);
    const auto workers = nginx.workers();

    // As many rounds as fit into 4 s, or PETSTORE_KILL_ROUNDS.
    const int asked = std::atoi(env_or("PETSTORE_KILL_ROUNDS", "0").c_str());
    const auto enough = Clock::now() + 4s;
    int rounds = 0;
    Writers writers(nginx, key, 8);
    const auto hundred_more = [&] {
        const int before = writers.acknowledged();
        const bool done =
            wait_until([&] { return writers.acknowledged() > before + 100; });
        UNSCOPED_INFO(rounds << " rounds; acknowledged "
                             << writers.acknowledged() << ", refused "
                             << writers.refused() << ", strange "
                             << writers.strange());
        return done;
    };
    do {
        REQUIRE(hundred_more());
        const int refused = writers.refused();
        redis.kill_hard();
        REQUIRE(wait_until([&] { return writers.refused() > refused; }));
        redis.start();
        ++rounds;
    } while (asked > 0 ? rounds < asked : Clock::now() < enough);
    REQUIRE(hundred_more());
    writers.end();

    const auto stored = compare(writers, nginx, key);
    CHECK(writers.strange() == 0);
    CHECK(stored.ids_twice == 0);
    CHECK(stored.names_twice == 0);
    CHECK(stored.lost == 0);
    CHECK(nginx.workers() == workers);
    WARN(rounds << " rounds, " << writers.acknowledged() << " acknowledged, "
                << stored.pets << " stored, " << stored.lost << " lost");
}
