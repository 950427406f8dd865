#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "util.h"

namespace petstore::e2e {

// A Redis reply.
struct Value {
    enum class Type { nil, integer, text, error, array } type = Type::nil;
    std::string text;  // of text and error
    std::int64_t integer = 0;
    std::vector<Value> items;
};

using Words = std::vector<std::string>;

std::string encode(const Words& command);

// Removes the first value from `bytes`. Returns false if it is incomplete;
// throws HarnessError if it is not RESP.
bool take_value(std::string& bytes, Value& value);

// A blocking connection. Throws HarnessError if it breaks.
class RedisClient {
public:
    explicit RedisClient(const std::string& unix_path);

    Value command(const Words& words);
    // Returns the bytes of the reply. No other reply may be pending.
    std::string raw_command(const Words& words);

    void send(const std::string& bytes);
    Value read();

private:
    struct Free {
        void operator()(redisContext* context) const { redisFree(context); }
    };

    std::unique_ptr<redisContext, Free> context_;
};

}  // namespace petstore::e2e
