#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "redis/decoder.h"

namespace petstore::fuzz {

// Appends the reply as text, so that whole trees can be compared.
inline void describe(const redis::Reply& reply, std::string& out)
{
    out.push_back(static_cast<char>('0' + static_cast<int>(reply.type())));
    out.append(std::to_string(reply.integer())).append(reply.text());
    for (std::size_t i = 0; i < reply.size(); ++i) {
        describe(reply[i], out);
    }
    out.push_back(';');
}

// Calls `visit` with each reply in the stream, which arrives in pieces of
// `step` bytes. Returns false if the stream breaks.
template <typename Visit>
bool for_each_reply(std::string_view stream, std::size_t step, Visit&& visit)
{
    redis::Decoder decoder;
    while (!stream.empty()) {
        const auto piece = stream.substr(0, step);
        stream.remove_prefix(piece.size());
        if (!decoder.feed(piece)) {
            return false;
        }
        for (;;) {
            const redis::Reply* reply = nullptr;
            const auto state = decoder.next(reply);
            if (state == redis::Decoder::State::broken) {
                REQUIRE(!decoder.problem().empty());
                return false;
            }
            if (state == redis::Decoder::State::incomplete) {
                break;
            }
            visit(*reply);
        }
    }
    return true;
}

}  // namespace petstore::fuzz
