#include "api/page.h"

#include <random>
#include <string>

#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

namespace {

// Created by another implementation.
constexpr char kCursor20[] = "ASoAAAAAAAAAFAFN3wg";
constexpr char kCursor20Sold[] = "AXMAAAAAAAAAFN-8KCU";
constexpr char kCursorMaxPending[] = "AXB__________-u2RTI";

ListQuery query_of(std::string_view text)
{
    auto result = parse_list_query(text);
    if (const auto* error = std::get_if<Error>(&result)) {
        FAIL(text << " gave " << error->message.text());
    }
    return std::get<ListQuery>(result);
}

std::string problem_of(std::string_view text)
{
    const auto result = parse_list_query(text);
    const auto* error = std::get_if<Error>(&result);
    if (error == nullptr) {
        return "accepted";
    }
    CHECK(error->code == ErrorCode::invalid_parameter);
    return std::string(error->message.text());
}

}  // namespace

TEST_CASE("without parameters the first 20 pets are listed", "[page]")
{
    for (const char* text : {"", "&", "&&&", "=", "=1", "x", "x=1&y=2"}) {
        CAPTURE(text);
        const ListQuery query = query_of(text);
        CHECK(query.limit == 20);
        CHECK_FALSE(query.status.has_value());
        CHECK(query.after == 0);
    }
}

TEST_CASE("limit is 1 to 100", "[page]")
{
    CHECK(query_of("limit=1").limit == 1);
    CHECK(query_of("limit=100").limit == 100);
    CHECK(query_of("limit=%35%30").limit == 50);
    CHECK(query_of("l%69mit=50").limit == 50);
    for (const char* value : {"0",
                              "101",
                              "-1",
                              "abc",
                              "",
                              "+5",
                              "%2B5",
                              "1.0",
                              "1e1",
                              "020",
                              "00",
                              "5%20",
                              "%205",
                              "5+",
                              "5%00",
                              "9223372036854775808",
                              "18446744073709551617",
                              "4294967297",
                              "0x10",
                              "5;",
                              "5=",
                              "=5",
                              "null",
                              "%D9%A1"}) {
        CAPTURE(value);
        CHECK(problem_of("limit="s + value)
              == "limit must be an integer from 1 to 100.");
    }
    CHECK(problem_of("limit") == "limit must be an integer from 1 to 100.");
}

TEST_CASE("the status filter is one of three values", "[page]")
{
    CHECK(query_of("status=available").status == Status::available);
    CHECK(query_of("status=pending").status == Status::pending);
    CHECK(query_of("status=s%6Fld").status == Status::sold);
    for (const char* value : {"", "Sold", "SOLD", "unknown", "sold,pending",
                              "sold+", "%73old%00", "s", "*"}) {
        CAPTURE(value);
        CHECK(problem_of("status="s + value)
              == "status must be available, pending or sold.");
    }
    CHECK(problem_of("status") == "status must be available, pending or sold.");
}

TEST_CASE("known parameters must not repeat", "[page]")
{
    CHECK(problem_of("limit=5&limit=5") == "limit must not be given twice.");
    CHECK(problem_of("limit=5&x&l%69mit=6")
          == "limit must not be given twice.");
    CHECK(problem_of("limit&limit=5") == "limit must not be given twice.");
    CHECK(problem_of("status=sold&status=sold")
          == "status must not be given twice.");
    CHECK(problem_of("cursor=x&cursor=x") == "cursor must not be given twice.");
    CHECK(problem_of("x=1&x=2") == "accepted");
}

TEST_CASE("invalid encoding is an error in known parameters only", "[page]")
{
    CHECK(problem_of("limit=%") == "limit is not correctly encoded.");
    CHECK(problem_of("limit=5%2") == "limit is not correctly encoded.");
    CHECK(problem_of("status=sold%zz") == "status is not correctly encoded.");
    CHECK(problem_of("cursor=%") == "cursor is not correctly encoded.");
    CHECK(query_of("x=%zz&limit=7&%=1&lim%it=3&y%2=%").limit == 7);
}

TEST_CASE("the error for an invalid parameter names it", "[page]")
{
    const std::string all = kCursor20;
    const std::pair<std::string, std::string> rows[] = {
        {"limit=0", "limit"},
        {"limit=101", "limit"},
        {"limit=-1", "limit"},
        {"limit=abc", "limit"},
        {"limit=", "limit"},
        {"limit", "limit"},
        {"limit=+5", "limit"},
        {"limit=%2B5", "limit"},
        {"limit=1.0", "limit"},
        {"limit=05", "limit"},
        {"limit=1e1", "limit"},
        {"limit=%205", "limit"},
        {"limit=5%20", "limit"},
        {"limit=99999999999999999999", "limit"},
        {"limit=18446744073709551617", "limit"},
        {"limit=4294967297", "limit"},
        {"limit=5&limit=5", "limit"},
        {"limit=5&limit=", "limit"},
        {"limit=%zz", "limit"},
        {"limit=5%00", "limit"},
        {"status=", "status"},
        {"status", "status"},
        {"status=Available", "status"},
        {"status=unknown", "status"},
        {"status=available%20", "status"},
        {"status=available,sold", "status"},
        {"status=sold&status=sold", "status"},
        {"cursor=", "cursor"},
        {"cursor=x", "cursor"},
        {"cursor=%00", "cursor"},
        {"cursor=" + std::string(3000, 'A'), "cursor"},
        {"cursor=" + all + "&cursor=" + all, "cursor"},
        {"cursor=" + all.substr(1), "cursor"},
        {"cursor=" + all.substr(0, all.size() - 1), "cursor"},
        {"cursor=" + all + "A", "cursor"},
        {"cursor=" + all + "=", "cursor"},
        {"cursor=" + std::string(all.size(), 'A'), "cursor"},
    };
    for (const auto& [query, name] : rows) {
        CAPTURE(query);
        CHECK(problem_of(query).compare(0, name.size(), name) == 0);
    }
}

TEST_CASE("parameter names are case-sensitive and compared in full", "[page]")
{
    CHECK(query_of("Limit=7&LIMIT=7&limits=7&limi=7&limit%20=7&limit[]=7").limit
          == 20);
    CHECK_FALSE(query_of("Status=sold&statu=x").status.has_value());
}

TEST_CASE("a cursor continues after an id", "[page]")
{
    CHECK(query_of("cursor="s + kCursor20).after == 20);
    CHECK(query_of("cursor="s + kCursor20 + "&limit=7").limit == 7);
    CHECK(query_of("cursor="s + kCursor20Sold + "&status=sold").after == 20);
    CHECK(query_of("status=pending&cursor="s + kCursorMaxPending).after
          == INT64_MAX);
    CHECK(query_of("cursor=%41SoAAAAAAAAAFAFN3wg").after == 20);
}

TEST_CASE("cursors equal those written by other implementations", "[page]")
{
    CHECK(encode_cursor(20, std::nullopt) == kCursor20);
    CHECK(encode_cursor(20, Status::sold) == kCursor20Sold);
    CHECK(encode_cursor(INT64_MAX, Status::pending) == kCursorMaxPending);
    CHECK(encode_cursor(1, Status::available) == "AWEAAAAAAAAAATBXpjk");
}

TEST_CASE("a cursor belongs to its filter", "[page]")
{
    const std::string message = "cursor belongs to a list with another status.";
    CHECK(problem_of("status=sold&cursor="s + kCursor20) == message);
    CHECK(problem_of("cursor="s + kCursor20Sold) == message);
    CHECK(problem_of("status=pending&cursor="s + kCursor20Sold) == message);
    CHECK(problem_of("cursor=AXgAAAAAAAAAFF3ptvg") == message);
}

TEST_CASE("broken cursors are refused", "[page]")
{
    for (const std::string& cursor : {
             ""s,
             "x"s,
             "20"s,
             "ASoAAAAAAAAAFAFN3w"s,    // truncated
             "ASoAAAAAAAAAFAFN3wgA"s,  // longer
             "ASoAAAAAAAAAFAFN3wg="s,  // padded
             "ASoAAAAAAAAAFAFN3wh"s,   // not canonical
             "ASoAAAAAAAAAFQFN3wg"s,   // other id, old checksum
             "ASoAAAAAAAAAABuXC3U"s,   // id 0
             "ASr__________1_xCwA"s,   // id -1
             "AioAAAAAAAAAFOp6ZAs"s,   // version 2
             "ASoAAAAAAAAAFAFN3w+"s,
             "AAAAAAAAAAAAAAAAAAA"s,
         }) {
        CAPTURE(cursor);
        CHECK(problem_of("cursor=" + cursor)
              == "cursor must be one from a Link header.");
    }
}

TEST_CASE("a cursor changed in one character is refused", "[page]")
{
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const std::string good = kCursor20;
    for (std::size_t i = 0; i < good.size(); ++i) {
        for (const char c : kAlphabet) {
            if (c == good[i]) {
                continue;
            }
            std::string cursor = good;
            cursor[i] = c;
            CAPTURE(cursor);
            REQUIRE(problem_of("cursor=" + cursor) != "accepted");
        }
    }
}

TEST_CASE("messages never echo the query", "[page]")
{
    for (const char* text :
         {"limit=SECRET", "status=SECRET", "cursor=SECRET", "limit=%SECRET"}) {
        CAPTURE(text);
        CHECK(problem_of(text).find("SECRET") == std::string::npos);
    }
}

TEST_CASE("the links to the next and the first page", "[page]")
{
    CHECK(
        page_links("/v1", {20, std::nullopt, 0}, 20)
        == "</v1/pets?limit=20&cursor=ASoAAAAAAAAAFAFN3wg>; rel=\"next\", </v1/pets?limit=20>; rel=\"first\"");
    CHECK(
        page_links("https://api.example.com/v1", {100, Status::sold, 7}, 20)
        == "<https://api.example.com/v1/pets?limit=100&status=sold&cursor=AXMAAAAAAAAAFN-8KCU>; rel=\"next\", <https://api.example.com/v1/pets?limit=100&status=sold>; rel=\"first\"");
}

TEST_CASE("the next link is the same query with the next cursor", "[page]")
{
    const std::string link = page_links("", {7, Status::pending, 3}, 12345);
    const std::size_t from = link.find('?') + 1;
    const ListQuery query = query_of(link.substr(from, link.find('>') - from));
    CHECK(query.limit == 7);
    CHECK(query.status == Status::pending);
    CHECK(query.after == 12345);
}

TEST_CASE("hostile queries do no harm", "[page]")
{
    const std::string good = "limit=5&status=sold&cursor="s + kCursor20Sold;
    std::mt19937 random(7);
    int accepted = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string text = good;
        for (auto changes = random() % 4; changes-- > 0;) {
            const std::size_t at = random() % text.size();
            if (random() % 2 == 0) {
                text[at] = static_cast<char>(random());
            } else {
                text.erase(at, 1 + random() % 3);
            }
        }
        const auto result = parse_list_query(text);
        if (const auto* query = std::get_if<ListQuery>(&result)) {
            ++accepted;
            REQUIRE(query->limit >= 1);
            REQUIRE(query->limit <= 100);
            REQUIRE(query->after >= 0);
        }
    }
    CHECK(accepted > 500);
    CHECK(accepted < 2500);
}
