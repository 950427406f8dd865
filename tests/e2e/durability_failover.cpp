// The primary is killed again and again while pets are created with
// "petstore_durability replicas=1", and its replica takes over.
#include <unistd.h>

#include <cstdio>
#include <set>

#include "support/replicas.h"
#include "support/store.h"
#include "support/writers.h"

using namespace petstore::e2e;

namespace {

// Two servers without persistence. `url` always leads to the current primary.
class Pair {
public:
    Pair()
    {
        follow(second_, first_);
        point_to(first_);
    }

    std::string url() const { return "unix:" + link_; }
    const RedisServer& primary() const { return *primary_; }

    const RedisServer& replica() const { return *replica_; }

    void fail_over()
    {
        RedisServer& old = *primary_;
        old.kill_hard();
        std::swap(primary_, replica_);
        promote(*primary_);
        point_to(*primary_);
    }
    void return_as_replica()
    {
        replica_->start();
        follow(*replica_, *primary_);
    }

private:
    void point_to(const RedisServer& redis) const
    {
        const std::string other = dir_ / "other";
        if (symlink(redis.socket().c_str(), other.c_str()) != 0
            || rename(other.c_str(), link_.c_str()) != 0) {
            throw HarnessError("cannot link " + link_);
        }
    }

    TempDir dir_;
    const std::string link_ = dir_ / "redis.sock";
    RedisServer first_{kReplicated};
    RedisServer second_{kReplicated};
    RedisServer* primary_ = &first_;
    RedisServer* replica_ = &second_;
};

}  // namespace

TEST_CASE("durability: a replica takes over, and no acknowledged pet is lost")
{
    Pair redis;
    const auto key = create_key(redis.primary());
    NginxOptions options;
    options.redis = redis.url();
    options.workers = 2;
    options.location =
        "petstore_durability replicas=1; petstore_redis_timeout 2s;";
    NginxServer nginx(options);
    const auto workers = nginx.workers();

    const int rounds = std::atoi(env_or("PETSTORE_KILL_ROUNDS", "3").c_str());
    Writers writers(nginx, key, 8);
    const auto writes = [&] {
        const int before = writers.acknowledged();
        return wait_until(
            [&] { return writers.acknowledged() > before + 100; });
    };
    for (int round = 0; round < rounds; ++round) {
        REQUIRE(writes());
        int refused = writers.refused();
        if (round % 2 == 0) {
            // The old primary still serves: writes that only it acknowledges
            // are lost.
            const int before = writers.acknowledged();
            promote(redis.replica());
            REQUIRE(wait_until([&] {
                return writers.refused() > refused + 8
                       || writers.acknowledged() > before + 100;
            }));
            refused = writers.refused();
        }
        redis.fail_over();
        // Without a replica, no pet is acknowledged.
        REQUIRE(wait_until([&] { return writers.refused() > refused + 8; }));
        redis.return_as_replica();
    }
    REQUIRE(writes());
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
