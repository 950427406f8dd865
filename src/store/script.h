#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../resp/command.h"

namespace petstore::store {

// A Lua script that runs in Redis. Its text is a file in src/store/lua/,
// embedded at build time by scripts/embed-lua.
struct Script {
    std::string_view name;
    std::string_view text;
    std::string sha1;  // 40 hex digits, what EVALSHA wants
};

// EVALSHA, or EVAL with the text after NOSCRIPT, up to the number of keys; the
// caller adds the keys and arguments.
resp::Command call(const Script& script, std::int64_t keys, bool eval);

namespace scripts {
const Script& create_pet();
const Script& list_by_status();
const Script& set_status();
const Script& limit();
const Script& strike();
const Script& touch_account();
const Script& unban();
const Script& clear_caches();
}  // namespace scripts

}  // namespace petstore::store
