#pragma once

#include "config.h"
#include "world.h"

namespace petstore::e2e {

// Reloads nginx, restarts and reconfigures Redis, changes keys and, if Redis
// may lie, damages data. While it runs, nothing else may change the servers.
class Operator {
public:
    Operator(World& world, RedisServer& redis, NginxServer& nginx,
             std::function<NginxOptions()> configuration, std::uint64_t seed);

    // Runs until stopped.
    void run(const std::atomic<bool>& stop);
    // Undoes everything: Redis runs with valid data, and keys are enabled.
    void put_right();

private:
    void act();
    void act_on_redis();
    void act_on_keys();
    void damage();
    void reload();
    void petstorectl(std::vector<std::string> arguments);
    void command(const Words& words);
    void note(const std::string& what);

    World& world_;
    RedisServer& redis_;
    NginxServer& nginx_;
    std::function<NginxOptions()> configuration_;
    Random random_;
    const bool forgetful_;
    bool redis_runs_ = true;
    bool damaged_ = false;
    Clock::time_point reloaded_{};
};

}  // namespace petstore::e2e
