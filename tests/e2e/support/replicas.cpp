#include "replicas.h"

namespace petstore::e2e {

const std::vector<std::string> kReplicated = {
    "repl-diskless-sync-delay 0", "appendonly no", "protected-mode no"};

void follow(const RedisServer& redis, const RedisServer& primary)
{
    follow(redis, primary.address());
}

void follow(const RedisServer& redis, const std::string& primary)
{
    const auto address = split(primary, ':');
    redis.command({"REPLICAOF", address.at(0), address.at(1)});
    if (!wait_until([&] {
            return contains(redis.command({"INFO", "replication"}).text,
                            "master_link_status:up");
        })) {
        throw HarnessError("Redis does not follow its primary");
    }
}

void promote(const RedisServer& redis)
{
    redis.command({"REPLICAOF", "NO", "ONE"});
}

}  // namespace petstore::e2e
