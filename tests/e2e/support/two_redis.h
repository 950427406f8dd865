#pragma once

#include <memory>
#include <string>
#include <vector>

#include "back_end.h"
#include "limits.h"

namespace petstore::e2e {

// One Redis for pets and key records, one for counters and bans.
struct TwoRedis {
    // `config`: further lines of the limit Redis's redis.conf.
    explicit TwoRedis(const std::vector<std::string>& config = {})
        : limits(config)
    {}

    RedisServer main;
    RedisServer limits;

    // Runs petstorectl with both.
    Output ctl(std::vector<std::string> arguments,
               const std::string& input = "") const;

    // Charges one request to the key, by an nginx with the main Redis alone.
    void charge_main(const Key& key) const;

    // Like the functions of these names for one Redis.
    Key create_key(std::vector<std::string> arguments = {}) const;
    Key limited_key(long long per_minute, long long per_day = 1'000'000) const;

    // The options of an nginx that uses both.
    NginxOptions with(NginxOptions options = {}) const;
};

// The marker that says where the limits are: "here", "elsewhere" or "".
inline constexpr char kLimitsMarker[] = "petstore:limits-place";
std::string limits_marker(const RedisServer& redis);

// Checks that petstorectl exited with 1 and this in its message.
void check_fails(const Output& output, const std::string& message,
                 int code = 1);

// Both Redis, an nginx with a guarded location /shop/, and a client.
struct TwoRedisStore {
    explicit TwoRedisStore(NginxOptions options = {},
                           const std::vector<std::string>& config = {});

    TwoRedis redis;
    BackEnd back_end;
    Key key;
    NginxServer nginx;
    Http http;
};

}  // namespace petstore::e2e
