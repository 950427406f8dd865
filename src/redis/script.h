#pragma once

#include <string>

namespace petstore::redis {

// A Lua script that runs in Redis.
struct Script {
    // Computes the digest. Throws std::runtime_error if OpenSSL has no SHA-1.
    explicit Script(std::string text);

    std::string text;
    std::string sha1;  // 40 hex digits, for EVALSHA
};

}  // namespace petstore::redis
