#pragma once

#include <string>
#include <string_view>

namespace petstore::redis {

// A Lua script that runs in Redis.
struct Script {
    // Computes the digest. `name` is a literal. Throws std::runtime_error if
    // OpenSSL has no SHA-1.
    Script(std::string_view name, std::string text);

    std::string_view name;
    std::string text;
    std::string sha1;  // 40 hex digits, for EVALSHA
};

}  // namespace petstore::redis
