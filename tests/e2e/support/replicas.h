#pragma once

#include <string>
#include <vector>

#include "redis_server.h"

namespace petstore::e2e {

// For servers that replicate: makes a full synchronization start at once, and
// avoids writing an append-only file, during which Redis refuses to exit.
extern const std::vector<std::string> kReplicated;

// Returns once `redis` has the data of `primary`, a server or its host:port, as
// its replica.
void follow(const RedisServer& redis, const RedisServer& primary);
void follow(const RedisServer& redis, const std::string& primary);

void promote(const RedisServer& redis);

}  // namespace petstore::e2e
