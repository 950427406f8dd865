#pragma once

#include "chaos_config.h"
#include "chaos_world.h"

namespace petstore::e2e {

// Who reloads nginx, restarts and reconfigures Redis, changes keys and, when
// Redis may lie, damages data. The only one who touches both servers while it
// runs.
class Operator {
public:
    Operator(World& world, RedisServer& redis, NginxServer& nginx,
             std::function<NginxOptions()> configuration, std::uint64_t seed);

    // Until told to stop.
    void run(const std::atomic<bool>& stop);
    // Ends what was begun: Redis runs and holds good data, keys are enabled.
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
