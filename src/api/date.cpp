#include "date.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <limits>

#include "text.h"

namespace petstore::api {
namespace {

constexpr std::int64_t kDay = 86400;

// Large enough for any tm.
using Buffer = std::array<char, 96>;

// Clamps to the years that fit into a tm, so gmtime_r() cannot fail.
std::tm calendar_time(UnixTime time) noexcept
{
    constexpr UnixTime kMost = 67'768'036'191'676'799;
    const std::time_t clamped = std::clamp(time, -kMost, kMost);
    std::tm result{};
    gmtime_r(&clamped, &result);
    return result;
}

// tm_year + 1900 may exceed an int.
long long year_of(const std::tm& time) noexcept
{
    return time.tm_year + 1900LL;
}

// Negative years are not padded.
int year_width(const std::tm& time) noexcept
{
    return year_of(time) < 0 ? 1 : 4;
}

// Not strftime(): its %Y pads no year.
std::string_view format_iso(const std::tm& time, Buffer& buffer) noexcept
{
    const int size = std::snprintf(
        buffer.data(), buffer.size(), "%0*lld-%02d-%02dT%02d:%02d:%02dZ",
        year_width(time), year_of(time), time.tm_mon + 1, time.tm_mday,
        time.tm_hour, time.tm_min, time.tm_sec);
    return {buffer.data(), static_cast<std::size_t>(size)};
}

constexpr std::int64_t seconds_of_unit(char letter)
{
    switch (letter) {
    case 'd':
        return kDay;
    case 'h':
        return 3600;
    case 'm':
        return 60;
    case 's':
        return 1;
    default:
        return 0;
    }
}

}  // namespace

std::string http_date(UnixTime time)
{
    // Not strftime(): its names depend on the locale.
    static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed",
                                            "Thu", "Fri", "Sat"};
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr",
                                              "May", "Jun", "Jul", "Aug",
                                              "Sep", "Oct", "Nov", "Dec"};
    const std::tm tm = calendar_time(time);
    Buffer buffer;
    const int size = std::snprintf(
        buffer.data(), buffer.size(), "%s, %02d %s %0*lld %02d:%02d:%02d GMT",
        kDays[tm.tm_wday], tm.tm_mday, kMonths[tm.tm_mon], year_width(tm),
        year_of(tm), tm.tm_hour, tm.tm_min, tm.tm_sec);
    return {buffer.data(), static_cast<std::size_t>(size)};
}

std::string iso_time(UnixTime time)
{
    Buffer buffer;
    return std::string(format_iso(calendar_time(time), buffer));
}

Day day_of(UnixTime time) noexcept
{
    return time / kDay - (time % kDay < 0 ? 1 : 0);
}

Day first_of_month(Day day) noexcept
{
    return day + 1 - calendar_time(day * kDay).tm_mday;
}

Day first_of_next_month(Day day) noexcept
{
    constexpr Day kLongestMonth = 31;
    return first_of_month(first_of_month(day) + kLongestMonth);
}

YearMonth month_of(Day day) noexcept
{
    const std::tm time = calendar_time(day * kDay);
    return {static_cast<int>(year_of(time)), time.tm_mon + 1};
}

std::string iso_date(Day day)
{
    const std::string time = iso_time(day * kDay);
    return time.substr(0, time.find('T'));
}

std::string iso_month(Day day)
{
    const std::string date = iso_date(day);
    return date.substr(0, date.rfind('-'));
}

std::optional<UnixTime> parse_date(std::string_view text) noexcept
{
    constexpr std::size_t kDateSize = 10;  // of "2030-12-05"
    std::array<char, 21> terminated{};     // "2030-12-05T10:00:00Z"
    if (text.size() >= terminated.size()) {
        return std::nullopt;
    }
    std::copy(text.begin(), text.end(), terminated.begin());
    const bool with_clock = text.size() > kDateSize;
    std::tm tm{};
    if (strptime(terminated.data(),
                 with_clock ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d", &tm)
        == nullptr) {
        return std::nullopt;
    }
    // strptime() accepts spaces and missing digits, and timegm() turns February
    // 30 into March. So accept only text that formats back to itself.
    const UnixTime time = timegm(&tm);
    Buffer buffer;
    const auto canonical = format_iso(tm, buffer);
    if (text != (with_clock ? canonical : canonical.substr(0, kDateSize))) {
        return std::nullopt;
    }
    return time;
}

bool has_four_digit_year(UnixTime time) noexcept
{
    constexpr UnixTime kFirst = -62'167'219'200;  // 0000-01-01T00:00:00Z
    constexpr UnixTime kLast = 253'402'300'799;   // 9999-12-31T23:59:59Z
    return time >= kFirst && time <= kLast;
}

namespace {

bool all_digits(std::string_view text) noexcept
{
    return !text.empty()
           && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "Z" or "+02:00", in seconds.
std::optional<std::int64_t> parse_offset(std::string_view text) noexcept
{
    if (text == "Z" || text == "z") {
        return 0;
    }
    constexpr std::size_t kSize = 6;
    if (text.size() != kSize || (text[0] != '+' && text[0] != '-')
        || text[3] != ':' || !all_digits(text.substr(1, 2))
        || !all_digits(text.substr(4, 2))) {
        return std::nullopt;
    }
    const int hours = (text[1] - '0') * 10 + text[2] - '0';
    const int minutes = (text[4] - '0') * 10 + text[5] - '0';
    if (hours > 23 || minutes > 59) {
        return std::nullopt;
    }
    const std::int64_t seconds = hours * 3600 + minutes * 60;
    return text[0] == '+' ? seconds : -seconds;
}

// Brings the time of RFC 3339 into the form that parse_date() reads.
std::optional<UnixTime> parse_rfc3339(std::string_view text) noexcept
{
    constexpr std::size_t kDateSize = 10;
    constexpr std::size_t kTimeSize = 19;  // of "2030-12-05T10:00:00"
    if (text.size() <= kTimeSize
        || (text[kDateSize] != 'T' && text[kDateSize] != 't')) {
        return std::nullopt;
    }
    std::array<char, kTimeSize + 1> utc{};
    std::copy_n(text.begin(), kTimeSize, utc.begin());
    utc[kDateSize] = 'T';
    utc[kTimeSize] = 'Z';
    std::string_view rest = text.substr(kTimeSize);
    if (rest[0] == '.') {
        const std::size_t end =
            std::min(rest.find_first_not_of("0123456789", 1), rest.size());
        if (end < 2) {
            return std::nullopt;
        }
        rest.remove_prefix(end);
    }
    const auto offset = parse_offset(rest);
    const auto time = parse_date({utc.data(), utc.size()});
    // An offset may lead out of the years that RFC 3339 can say.
    return offset && time && has_four_digit_year(*time - *offset)
               ? std::optional(*time - *offset)
               : std::nullopt;
}

}  // namespace

UnixTime end_of(UnixTime now, std::int64_t duration) noexcept
{
    return duration > 0 ? now + duration + 1 : now;
}

std::optional<UnixTime> parse_moment(std::string_view text,
                                     UnixTime now) noexcept
{
    constexpr std::int64_t kLongest = std::int64_t{36500} * kDay;
    if (const auto date = parse_date(text)) {
        return date;
    }
    if (const auto time = parse_rfc3339(text)) {
        return time;
    }
    // A bare number would be seconds, but may be meant as a year.
    if (text.empty() || seconds_of_unit(text.back()) == 0) {
        return std::nullopt;
    }
    const auto duration = parse_duration(text);
    return duration && *duration <= kLongest
               ? std::optional(end_of(now, *duration))
               : std::nullopt;
}

std::optional<std::int64_t> parse_duration(std::string_view text) noexcept
{
    std::int64_t unit = text.empty() ? 0 : seconds_of_unit(text.back());
    if (unit != 0) {
        text.remove_suffix(1);
    } else {
        unit = 1;
    }
    const auto number = parse_int64(text);
    if (!number || *number < 0
        || *number > std::numeric_limits<std::int64_t>::max() / unit) {
        return std::nullopt;
    }
    return *number * unit;
}

}  // namespace petstore::api
