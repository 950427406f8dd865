#include "date.h"

#include <limits>

#include "text.h"

namespace petstore::api {
namespace {

constexpr std::int64_t kDay = 86400;

struct Civil {
    std::int64_t year;
    int month;
    int day;
};

// Both ways by Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms":
// years start in March, so that the leap day is the last of its year.
constexpr std::int64_t days_from_civil(const Civil& date)
{
    const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t day_of_year =
        (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    const std::int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

constexpr Civil civil_from_days(std::int64_t days)
{
    days += 719468;
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const std::int64_t day_of_era = days - era * 146097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524
         - day_of_era / 146096)
        / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted = (5 * day_of_year + 2) / 153;
    const int month =
        static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
    return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
            static_cast<int>(day_of_year - (153 * shifted + 2) / 5 + 1)};
}

constexpr std::int64_t floor_days(UnixTime time)
{
    return time / kDay - (time % kDay < 0 ? 1 : 0);
}

constexpr std::int64_t second_of_day(UnixTime time)
{
    return (time % kDay + kDay) % kDay;
}

constexpr int days_in_month(std::int64_t year, int month)
{
    if (month == 2) {
        const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        return leap ? 29 : 28;
    }
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

void append_two(std::string& out, std::int64_t value)
{
    out.push_back(static_cast<char>('0' + value / 10));
    out.push_back(static_cast<char>('0' + value % 10));
}

void append_year(std::string& out, std::int64_t year)
{
    if (year >= 0 && year < 10000) {
        append_two(out, year / 100);
        append_two(out, year % 100);
    } else {
        append_int(out, year);
    }
}

void append_clock(std::string& out, std::int64_t second)
{
    append_two(out, second / 3600);
    out.push_back(':');
    append_two(out, second / 60 % 60);
    out.push_back(':');
    append_two(out, second % 60);
}

// `text` against a shape of '0' for any digit and literals for the rest.
bool has_shape(std::string_view text, std::string_view shape) noexcept
{
    if (text.size() != shape.size()) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (shape[i] == '0' ? !digit : text[i] != shape[i]) {
            return false;
        }
    }
    return true;
}

int digits_at(std::string_view text, std::size_t from,
              std::size_t count) noexcept
{
    int value = 0;
    for (const char c : text.substr(from, count)) {
        value = value * 10 + (c - '0');
    }
    return value;
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
    static constexpr std::string_view kDays[] = {"Thu", "Fri", "Sat", "Sun",
                                                 "Mon", "Tue", "Wed"};
    static constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr",
                                                   "May", "Jun", "Jul", "Aug",
                                                   "Sep", "Oct", "Nov", "Dec"};
    const std::int64_t days = floor_days(time);
    const Civil date = civil_from_days(days);
    std::string out;
    out.reserve(29);
    out.append(kDays[(days % 7 + 7) % 7]).append(", ");
    append_two(out, date.day);
    out.push_back(' ');
    out.append(kMonths[date.month - 1]).push_back(' ');
    append_year(out, date.year);
    out.push_back(' ');
    append_clock(out, second_of_day(time));
    out.append(" GMT");
    return out;
}

std::string iso_time(UnixTime time)
{
    const Civil date = civil_from_days(floor_days(time));
    std::string out;
    out.reserve(20);
    append_year(out, date.year);
    out.push_back('-');
    append_two(out, date.month);
    out.push_back('-');
    append_two(out, date.day);
    out.push_back('T');
    append_clock(out, second_of_day(time));
    out.push_back('Z');
    return out;
}

std::optional<UnixTime> parse_date(std::string_view text) noexcept
{
    const bool with_clock = has_shape(text, "0000-00-00T00:00:00Z");
    if (!with_clock && !has_shape(text, "0000-00-00")) {
        return std::nullopt;
    }
    const Civil date{digits_at(text, 0, 4), digits_at(text, 5, 2),
                     digits_at(text, 8, 2)};
    if (date.month < 1 || date.month > 12 || date.day < 1
        || date.day > days_in_month(date.year, date.month)) {
        return std::nullopt;
    }
    const UnixTime midnight = days_from_civil(date) * kDay;
    if (!with_clock) {
        return midnight;
    }
    const std::int64_t hour = digits_at(text, 11, 2);
    const std::int64_t minute = digits_at(text, 14, 2);
    const std::int64_t second = digits_at(text, 17, 2);
    if (hour > 23 || minute > 59 || second > 59) {
        return std::nullopt;
    }
    return midnight + hour * 3600 + minute * 60 + second;
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
