#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util.h"

namespace petstore::e2e {

// A reply of Redis. Read by twenty lines of our own: a fault of the module's
// decoder must not hide behind itself.
struct Value {
    enum class Type { nil, integer, text, error, array } type = Type::nil;
    std::string text;  // of text and error
    std::int64_t integer = 0;
    std::vector<Value> items;
};

using Words = std::vector<std::string>;

std::string encode(const Words& command);

// Takes one value off the front of `bytes`. False: it is not all there.
bool take_value(std::string& bytes, Value& value);

// A blocking connection; throws HarnessError when it breaks.
class RedisClient {
public:
    explicit RedisClient(const std::string& unix_path);
    ~RedisClient();
    RedisClient(RedisClient&& other) noexcept;
    RedisClient& operator=(RedisClient&&) = delete;

    Value command(const Words& words);
    // The reply as it came.
    std::string raw_command(const Words& words);

    void send(const std::string& bytes);
    Value read();
    // One line without its end, as MONITOR sends them. False when it took too
    // long.
    bool read_line(std::string& line, std::chrono::milliseconds timeout);

private:
    bool receive(std::chrono::milliseconds timeout);

    int fd_;
    std::string buffer_;
};

}  // namespace petstore::e2e
