#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/date.h"
#include "../../api/limit.h"

namespace petstore::store {

// An account's state in Redis: ten little-endian doubles in the order of the
// members, which Lua decodes with one struct.unpack call. A later version may
// append more; this one keeps them. Counts are in units.
struct AccountState {
    static constexpr std::size_t kSize = 80;
    static constexpr std::size_t kWindowsSize = 40;  // minute_used … month_used

    // 2^53: doubles, in which scripts count, are exact up to here.
    static constexpr std::int64_t kLargest = std::int64_t{1} << 53;

    std::int64_t epoch = 0;  // see docs/redis-keys.md
    // utc_day, or 0 while banned: for the limiter's usual case, which neither
    // reads nor writes the members after month_used.
    api::Day usual_day = 0;
    std::int64_t minute_used = 0;
    api::Millis minute_end = 0;  // if past, no window is open
    std::int64_t day_used = 0;
    api::Millis day_end = 0;
    std::int64_t month_used = 0;  // in the month of utc_day
    api::Millis ban_until = 0;    // 0 if none
    api::Day utc_day = 0;         // of the last charge
    std::int64_t month_base = 0;  // month_used when utc_day began

    // Charged on utc_day, and not yet part of the account's usage in Redis.
    std::int64_t used_on_utc_day() const noexcept
    {
        return month_used - month_base;
    }

    // The end of the month of utc_day.
    api::Millis month_end() const noexcept;

    // nullopt if `bytes` is not a valid state.
    static std::optional<AccountState> decode(std::string_view bytes) noexcept;

    // Builds the state of an account without a ban from its windows. The
    // month's base remains unknown.
    static std::optional<AccountState>
    decode_windows(std::int64_t epoch, api::Day utc_day,
                   std::string_view bytes) noexcept;
};

// The number in the first 8 of `bytes`, as scripts pack it with '<d'; nullopt
// if there are fewer, or if it is not an integer from 0 to kLargest.
std::optional<std::int64_t> decode_number(std::string_view bytes) noexcept;

// Appends numbers in the encoding that scripts unpack with '<d'.
void append_numbers(std::string& out,
                    std::initializer_list<std::int64_t> numbers);

// Whether append_floats() keeps the number's value.
bool fits_float(std::int64_t number) noexcept;

// Appends numbers in the encoding that scripts unpack with '<f': half as long.
void append_floats(std::string& out,
                   std::initializer_list<std::int64_t> numbers);

}  // namespace petstore::store
