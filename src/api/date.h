#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace petstore::api {

using UnixTime = std::int64_t;  // seconds

// A day in UTC, counted from 1970-01-01.
using Day = std::int64_t;

// 9999-12-31, the last one with a four-digit year.
inline constexpr Day kLastDay = 2'932'896;

// IMF-fixdate of RFC 9110: "Thu, 05 Dec 2030 00:00:00 GMT".
std::string http_date(UnixTime time);

// "2030-12-05T00:00:00Z"
std::string iso_time(UnixTime time);

Day day_of(UnixTime time) noexcept;
Day first_of_month(Day day) noexcept;
Day first_of_next_month(Day day) noexcept;

struct YearMonth {
    int year;
    int month;  // January is 1
};
YearMonth month_of(Day day) noexcept;

std::string iso_date(Day day);   // "2030-12-05"
std::string iso_month(Day day);  // "2030-12"

// "2030-12-05" (midnight UTC) or "2030-12-05T10:00:00Z"; nullopt unless it is a
// calendar date.
std::optional<UnixTime> parse_date(std::string_view text) noexcept;

// Whether parse_date() can return it: the years 0 to 9999.
bool has_four_digit_year(UnixTime time) noexcept;

// When a duration ends that begins within the second `now`: in the second after
// its last, so that it is never shorter. 0 ends at once.
UnixTime end_of(UnixTime now, std::int64_t duration) noexcept;

// A moment as people write it: a date as above, a time of RFC 3339
// ("2030-12-05T12:00:00.5+02:00"; fractions of a second are dropped), or a
// duration from `now` with its unit ("30d"). nullopt for anything else.
std::optional<UnixTime> parse_moment(std::string_view text,
                                     UnixTime now) noexcept;

// "90", "90s", "15m", "24h" or "7d", in seconds; nullopt otherwise.
std::optional<std::int64_t> parse_duration(std::string_view text) noexcept;

}  // namespace petstore::api
