#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "resp/command.h"
#include "resp/decoder.h"
#include "store/account_state.h"

// Replies as Redis would send them, for code that reads them.
class Replies {
public:
    const petstore::resp::Reply& operator()(std::string_view resp)
    {
        const petstore::resp::Reply* reply = nullptr;
        decoder_.feed(resp);
        if (decoder_.next(reply) != petstore::resp::Decoder::State::reply)
            throw std::runtime_error("no whole reply");
        return *reply;
    }

private:
    petstore::resp::Decoder decoder_;
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
    for (const std::string& item : items)
        text += item;
    return text;
}

// As scripts have them, see account_state.h.
inline std::string encode_numbers(std::initializer_list<std::int64_t> numbers)
{
    std::string bytes;
    petstore::store::append_numbers(bytes, numbers);
    return bytes;
}

inline std::vector<std::string> words(const petstore::resp::Command& command)
{
    const auto argv = command.argv();
    return {argv.begin(), argv.end()};
}
