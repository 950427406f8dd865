#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "../api/limit.h"

namespace petstore::store {

// What Redis holds of an account, in one value of 48 bytes: six numbers as
// little-endian doubles, which Lua reads with one call of struct.unpack and
// which are exact up to 2^53. The order is that of the members.
struct AccountState {
    static constexpr std::size_t kSize = 48;

    std::int64_t epoch = 0;     // see docs/redis-keys.md
    api::Millis ban_until = 0;  // 0 for none
    std::int64_t minute_used = 0;
    api::Millis minute_end = 0;  // in the past: there is no open window
    std::int64_t day_used = 0;
    api::Millis day_end = 0;

    // nullopt for what is no such value.
    static std::optional<AccountState> decode(std::string_view bytes) noexcept;
};

// Appends numbers in the form that scripts read with '<d'.
void append_numbers(std::string& out,
                    std::initializer_list<std::int64_t> numbers);

}  // namespace petstore::store
