#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "redis/command.h"
#include "redis/decoder.h"

// Decodes replies from RESP. Each call invalidates the previous reply.
class Replies {
public:
    explicit Replies(const petstore::redis::ReplyLimits& limits = {})
        : decoder_(limits)
    {}

    const petstore::redis::Reply& operator()(std::string_view resp)
    {
        const petstore::redis::Reply* reply = nullptr;
        decoder_.feed(resp);
        if (decoder_.next(reply) != petstore::redis::Decoder::State::reply) {
            throw std::runtime_error("not a complete reply");
        }
        return *reply;
    }

private:
    petstore::redis::Decoder decoder_;
};

inline std::string bulk(std::string_view text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text)
           + "\r\n";
}

inline std::string integer(long long value)
{
    return ":" + std::to_string(value) + "\r\n";
}

inline const std::string kNil = "$-1\r\n";

inline std::string array(const std::vector<std::string>& items)
{
    std::string text = "*" + std::to_string(items.size()) + "\r\n";
    for (const std::string& item : items) {
        text += item;
    }
    return text;
}

inline std::vector<std::string> words(const petstore::redis::Command& command)
{
    const auto argv = command.argv();
    return {argv.begin(), argv.end()};
}
