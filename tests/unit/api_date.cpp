#include "api/date.h"

#include <random>
#include <string>
#include <tuple>

#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

TEST_CASE("HTTP dates", "[date]")
{
    CHECK(http_date(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
    CHECK(http_date(-1) == "Wed, 31 Dec 1969 23:59:59 GMT");
    CHECK(http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK(http_date(951782400) == "Tue, 29 Feb 2000 00:00:00 GMT");
    CHECK(http_date(1709208000) == "Thu, 29 Feb 2024 12:00:00 GMT");
    CHECK(http_date(1922659200) == "Thu, 05 Dec 2030 00:00:00 GMT");
    CHECK(http_date(4107542399) == "Sun, 28 Feb 2100 23:59:59 GMT");
    CHECK(http_date(4107542400) == "Mon, 01 Mar 2100 00:00:00 GMT");
    CHECK(http_date(253402300799) == "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST_CASE("all months and week days have their names", "[date]")
{
    const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const char* days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    for (int i = 0; i < 12; ++i) {
        const std::string text =
            "2023-"s + (i < 9 ? "0" : "") + std::to_string(i + 1) + "-15";
        const auto time = parse_date(text);
        REQUIRE(time.has_value());
        CHECK(http_date(*time).substr(8, 3) == months[i]);
    }
    for (int i = 0; i < 7; ++i) {
        // 2024-01-01 was a Monday.
        CHECK(http_date(1704067200 + i * 86400).substr(0, 3) == days[i]);
    }
}

TEST_CASE("ISO times", "[date]")
{
    CHECK(iso_time(0) == "1970-01-01T00:00:00Z");
    CHECK(iso_time(-1) == "1969-12-31T23:59:59Z");
    CHECK(iso_time(784111777) == "1994-11-06T08:49:37Z");
    CHECK(iso_time(1922659200) == "2030-12-05T00:00:00Z");
    CHECK(iso_time(253402300799) == "9999-12-31T23:59:59Z");
    CHECK(iso_time(-62135596800) == "0001-01-01T00:00:00Z");
}

TEST_CASE("days and months in UTC", "[date]")
{
    CHECK(day_of(0) == 0);
    CHECK(day_of(86399) == 0);
    CHECK(day_of(86400) == 1);
    CHECK(day_of(-1) == -1);
    CHECK(day_of(-86400) == -1);
    CHECK(iso_date(20782) == "2026-11-25");
    CHECK(iso_month(20782) == "2026-11");
    CHECK(iso_date(kLastDay) == "9999-12-31");
    for (const auto& [text, first, next] :
         {std::tuple("2024-02-29", "2024-02-01", "2024-03-01"),
          std::tuple("2023-02-28", "2023-02-01", "2023-03-01"),
          std::tuple("2026-12-31", "2026-12-01", "2027-01-01"),
          std::tuple("2026-04-01", "2026-04-01", "2026-05-01"),
          std::tuple("1969-12-31", "1969-12-01", "1970-01-01")}) {
        const Day day = day_of(parse_date(text).value());
        CHECK(iso_date(day) == text);
        CHECK(iso_date(first_of_month(day)) == first);
        CHECK(iso_date(first_of_next_month(day)) == next);
    }
    CHECK(month_of(20782).year == 2026);
    CHECK(month_of(20782).month == 11);
}

TEST_CASE("dates and times are parsed", "[date]")
{
    CHECK(parse_date("1970-01-01") == 0);
    CHECK(parse_date("2030-12-05") == 1922659200);
    CHECK(parse_date("1969-12-31") == -86400);
    CHECK(parse_date("1900-03-01") == -2203891200);
    CHECK(parse_date("2000-02-29") == 951782400);
    CHECK(parse_date("2024-02-29") == 1709164800);
    CHECK(parse_date("9999-12-31") == 253402214400);
    CHECK(parse_date("1994-11-06T08:49:37Z") == 784111777);
    CHECK(parse_date("2024-02-29T23:59:59Z") == 1709251199);
}

TEST_CASE("dates that do not exist are refused", "[date]")
{
    for (const std::string& text : {""s,
                                    "2030"s,
                                    "2030-12"s,
                                    "2030-13-01"s,
                                    "2030-00-01"s,
                                    "2030-01-00"s,
                                    "2030-01-32"s,
                                    "2030-04-31"s,
                                    "2030-06-31"s,
                                    "2030-09-31"s,
                                    "2030-11-31"s,
                                    "2030-02-29"s,
                                    "2100-02-29"s,
                                    "1900-02-29"s,
                                    "2024-02-30"s,
                                    "2030-1-01"s,
                                    "2030/01/01"s,
                                    "30-01-01"s,
                                    "20300101"s,
                                    " 2030-01-01"s,
                                    "2030-01-01 "s,
                                    "+030-01-01"s,
                                    "2030-01-01T"s,
                                    "2030-01-01T00:00:00"s,
                                    "2030-01-01T24:00:00Z"s,
                                    "2030-01-01T00:60:00Z"s,
                                    "2030-01-01T00:00:60Z"s,
                                    "2030-01-01 00:00:00Z"s,
                                    "2030-01-01t00:00:00z"s,
                                    "2030-01-01T00:00:00+00:00"s,
                                    "2030-01-01T00:00Z"s,
                                    "2030-01-0\xB2"s,
                                    "tomorrow"s,
                                    "2030-01-01\0"s}) {
        CAPTURE(text);
        CHECK_FALSE(parse_date(text).has_value());
    }
}

TEST_CASE("a formatted time parses to the same time", "[date]")
{
    std::mt19937_64 random(10);
    for (int i = 0; i < 1000; ++i) {
        // Years 0001 to 9999.
        const UnixTime time =
            static_cast<UnixTime>(random() % 315'537'897'600) - 62'135'596'800;
        REQUIRE(parse_date(iso_time(time)) == time);
        REQUIRE(http_date(time).size() == 29);
    }
}

TEST_CASE("times of any size can be written", "[date]")
{
    for (const UnixTime time : {INT64_MIN, INT64_MIN + 1, INT64_MAX}) {
        CHECK_FALSE(http_date(time).empty());
        CHECK_FALSE(iso_time(time).empty());
    }
    CHECK(iso_time(253402300800) == "10000-01-01T00:00:00Z");
}

TEST_CASE("dates have years of four digits", "[date]")
{
    for (const char* const date :
         {"0000-01-01", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"}) {
        CAPTURE(date);
        const auto time = parse_date(date);
        REQUIRE(time);
        CHECK(has_four_digit_year(*time));
    }
    const auto first = parse_date("0000-01-01");
    const auto last = parse_date("9999-12-31T23:59:59Z");
    CHECK_FALSE(has_four_digit_year(*first - 1));
    CHECK_FALSE(has_four_digit_year(*last + 1));
}

TEST_CASE("durations", "[date]")
{
    CHECK(parse_duration("90") == 90);
    CHECK(parse_duration("90s") == 90);
    CHECK(parse_duration("15m") == 900);
    CHECK(parse_duration("24h") == 86400);
    CHECK(parse_duration("7d") == 604800);
    CHECK(parse_duration("0") == 0);
    CHECK(parse_duration("9223372036854775807") == INT64_MAX);
    CHECK(parse_duration("106751991167300d") == 9223372036854720000);
    for (const std::string& text : {""s,
                                    "s"s,
                                    "d"s,
                                    "-1"s,
                                    "-1s"s,
                                    "+1s"s,
                                    "1.5h"s,
                                    "1 h"s,
                                    " 1h"s,
                                    "1h "s,
                                    "1H"s,
                                    "1w"s,
                                    "1y"s,
                                    "1ms"s,
                                    "1h30m"s,
                                    "010s"s,
                                    "1e3"s,
                                    "9223372036854775808"s,
                                    "106751991167301d"s,
                                    "9223372036854775807m"s,
                                    "abc"s,
                                    "1\0"s}) {
        CAPTURE(text);
        CHECK_FALSE(parse_duration(text).has_value());
    }
}

TEST_CASE("a moment is a date, a time of RFC 3339 or a duration", "[date]")
{
    constexpr UnixTime kNow = 1'000'000;
    CHECK(parse_moment("2030-12-05", kNow) == 1922659200);
    CHECK(parse_moment("1994-11-06T08:49:37Z", kNow) == 784111777);
    CHECK(parse_moment("1994-11-06t08:49:37z", kNow) == 784111777);
    CHECK(parse_moment("1994-11-06T10:49:37+02:00", kNow) == 784111777);
    CHECK(parse_moment("1994-11-05T22:19:37.999-10:30", kNow) == 784111777);
    CHECK(parse_moment("1994-11-06T08:49:37-00:00", kNow) == 784111777);
    CHECK(parse_moment("9999-12-31T23:59:59Z", kNow) == 253402300799);
    CHECK(parse_moment("0000-01-01T01:00:00+01:00", kNow) == -62167219200);
    // The second `now` has begun: what is added to it is not shorter.
    CHECK(parse_moment("90s", kNow) == kNow + 91);
    CHECK(parse_moment("0s", kNow) == kNow);
    CHECK(parse_moment("30d", kNow) == kNow + 30 * 86400 + 1);
    CHECK(parse_moment("36500d", kNow) == kNow + 36500LL * 86400 + 1);
    for (const std::string& text : {""s,
                                    "2030"s,
                                    "0"s,
                                    "d"s,
                                    "-1d"s,
                                    "36501d"s,
                                    "106751991167300d"s,
                                    "soon"s,
                                    "none"s,
                                    "2030-13-01"s,
                                    "2030-01-01T00:00:00"s,
                                    "2030-01-01 00:00:00Z"s,
                                    "2030-01-01T00:00:00."s,
                                    "2030-01-01T00:00:00.Z"s,
                                    "2030-01-01T00:00:00.5"s,
                                    "2030-01-01T24:00:00Z"s,
                                    "2030-01-01T00:00:00+24:00"s,
                                    "2030-01-01T00:00:00+0200"s,
                                    "2030-01-01T00:00:00+02:60"s,
                                    "2030-01-01T00:00:00+02:00 "s,
                                    "2030-02-29T00:00:00+02:00"s,
                                    "9999-12-31T23:59:59-00:01"s,
                                    "0000-01-01T00:00:00+00:01"s,
                                    "2030-01-01T00:00:00Z\0"s}) {
        CAPTURE(text);
        CHECK_FALSE(parse_moment(text, kNow).has_value());
    }
}
