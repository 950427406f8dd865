#pragma once

#include <string>
#include <string_view>

namespace petstore::redis {

// A Lua script that runs in Redis.
struct Script {
    // Computes the digest. `text` must outlive the script. Throws
    // std::runtime_error if OpenSSL has no SHA-1.
    Script(std::string_view name, std::string_view text);

    std::string_view name;
    std::string_view text;
    std::string sha1;  // 40 hex digits, for EVALSHA
};

}  // namespace petstore::redis
