#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/limit.h"

namespace petstore::store {

// An account's state in Redis: one value of 48 bytes, six little-endian doubles
// in the order of the members. Lua decodes it with one struct.unpack call.
struct AccountState {
    static constexpr std::size_t kSize = 48;
    static constexpr std::size_t kWindowsSize = 32;  // the last four

    // 2^53: doubles, in which scripts count, are exact up to here.
    static constexpr std::int64_t kLargest = std::int64_t{1} << 53;

    std::int64_t epoch = 0;     // see docs/redis-keys.md
    api::Millis ban_until = 0;  // 0 if none
    std::int64_t minute_used = 0;
    api::Millis minute_end = 0;  // if past, no window is open
    std::int64_t day_used = 0;
    api::Millis day_end = 0;

    // nullopt if `bytes` is not a valid state.
    static std::optional<AccountState> decode(std::string_view bytes) noexcept;

    // Builds the state of an account without a ban from its windows.
    static std::optional<AccountState>
    decode_windows(std::int64_t epoch, std::string_view bytes) noexcept;
};

// The number in the first 8 of `bytes`, as scripts pack it with '<d'; nullopt
// if there are fewer, or if it is not an integer from 0 to kLargest.
std::optional<std::int64_t> decode_number(std::string_view bytes) noexcept;

// Appends numbers in the encoding that scripts unpack with '<d'.
void append_numbers(std::string& out,
                    std::initializer_list<std::int64_t> numbers);

}  // namespace petstore::store
