#include "store/accounts/usage_commands.h"

#include <string>
#include <tuple>
#include <vector>

#include "catch.h"
#include "fake_link.h"
#include "store/scripts.h"

using namespace petstore;

namespace {

constexpr api::Day kToday = 20782;  // 2026-11-25
constexpr api::Day kNovember = 20758;
constexpr api::Day kOctober = 20727;
constexpr std::int64_t kNow = kToday * 86'400'000 + 3'600'000;

struct State {
    std::int64_t usual_day = kToday;
    std::int64_t minute = 5;
    std::int64_t minute_end = kNow + 1000;
    std::int64_t day = 40;
    std::int64_t day_end = kNow + 2000;
    std::int64_t month = 300;
    std::int64_t ban_until = 0;
    std::int64_t utc_day = kToday;
    std::int64_t month_base = 270;

    std::string reply() const
    {
        return bulk(
            encode_numbers({17, usual_day, minute, minute_end, day, day_end,
                            month, ban_until, utc_day, month_base}));
    }
};

std::string ledger(const std::vector<std::string>& items)
{
    std::vector<std::string> bulks;
    bulks.reserve(items.size());
    for (const auto& item : items) {
        bulks.push_back(bulk(item));
    }
    return array(bulks);
}

// Reads October and November.
struct Reading {
    const store::Schema schema{"P"};
    const store::UsageCommands commands{schema};
    api::AccountUsage usage;

    std::string take(const std::string& reply)
    {
        usage = {};
        Replies replies;
        return commands.parse(replies(reply), "a1", kOctober + 3, kToday,
                              usage);
    }

    std::string take(const std::string& state, const std::string& october,
                     const std::string& november)
    {
        return take(array({bulk(std::to_string(kNow / 1000)), bulk("500"),
                           state, bulk("3"), kNil, october, november}));
    }

    using Days = std::vector<std::tuple<api::Day, std::int64_t, std::int64_t>>;
    Days days() const
    {
        Days days;
        for (const auto& day : usage.days) {
            days.emplace_back(day.start, day.admitted, day.denied);
        }
        return days;
    }
};

}  // namespace

TEST_CASE("usage is read by one call", "[store]")
{
    const store::Schema schema("P");
    const store::UsageCommands commands(schema);
    const auto& sha1 = store::scripts().read_usage.sha1;
    CHECK(words(commands.read("a1", kToday - 100, kToday))
          == FakeLink::Words{"EVALSHA", sha1, "7", "P:{a1}:state",
                             "P:{a1}:strikes", "P:{a1}:bans",
                             "P:{a1}:usage:202608", "P:{a1}:usage:202609",
                             "P:{a1}:usage:202610", "P:{a1}:usage:202611"});
    CHECK(words(commands.read("a1", 0, -1)).size() == 6);
}

TEST_CASE("usage is the ledger and the running day", "[store]")
{
    Reading r;
    REQUIRE(r.take(State().reply(), ledger({"31", "7", "04d", "2", "04", "6"}),
                   ledger({"24", "8", "25d", "9", "newer", "?", "1", "x"}))
            == "");
    CHECK(r.days()
          == Reading::Days{{kOctober + 3, 6, 2},
                           {kOctober + 30, 7, 0},
                           {kToday - 1, 8, 0},
                           {kToday, 30, 9}});
    CHECK(r.usage.now == kNow);
    CHECK(r.usage.last_used == kToday);
    CHECK(r.usage.minute.used == 5);
    CHECK(r.usage.minute.reset == kNow + 1000);
    CHECK(r.usage.day.used == 40);
    CHECK(r.usage.month.used == 300);
    CHECK(r.usage.month.reset == (kNovember + 30) * 86'400'000);
    CHECK(r.usage.strikes == 3);
    CHECK(r.usage.bans == 0);
    CHECK(r.usage.banned_until == 0);
}

TEST_CASE("a window never ends later than one length from now", "[store]")
{
    // The clock was set back by hours.
    Reading r;
    REQUIRE(r.take(State{.minute_end = kNow + 36'000'000,
                         .day_end = kNow + 100'000'000}
                       .reply(),
                   ledger({}), ledger({}))
            == "");
    CHECK(r.usage.minute.used == 5);
    CHECK(r.usage.minute.reset == kNow + 60'000);
    CHECK(r.usage.day.reset == kNow + 86'400'000);
}

TEST_CASE("usage without a time is not read", "[store]")
{
    Reading r;
    CHECK(r.take(array({bulk("x"), bulk("500"), State().reply(), bulk("3"),
                        kNil, ledger({}), ledger({})}))
          == "P:{a1}:state");
}

TEST_CASE("a running day whose counters were emptied is in both", "[store]")
{
    Reading r;
    REQUIRE(r.take(State{.month = 4, .month_base = 0}.reply(), ledger({}),
                   ledger({"25", "30"}))
            == "");
    CHECK(r.days() == Reading::Days{{kToday, 34, 0}});
}

TEST_CASE("windows and months that have ended are empty", "[store]")
{
    Reading r;
    REQUIRE(r.take(State{.usual_day = kOctober,
                         .minute_end = kNow,
                         .day_end = kNow - 1,
                         .ban_until = kNow,
                         .utc_day = kOctober}
                       .reply(),
                   ledger({}), ledger({}))
            == "");
    CHECK(r.usage.minute.reset == 0);
    CHECK(r.usage.day.used == 0);
    CHECK(r.usage.month.used == 0);
    CHECK(r.usage.banned_until == 0);
    CHECK(r.usage.last_used == kOctober);
    CHECK(r.days() == Reading::Days{{kOctober, 30, 0}});
}

TEST_CASE("a month begins with what is in its ledger", "[store]")
{
    Reading r;
    const auto november = ledger({"07", "50", "08d", "3"});
    const auto month_after = [&](const State& state) {
        REQUIRE(r.take(state.reply(), ledger({"31", "7"}), november) == "");
        return r.usage.month;
    };
    const api::Millis end = (kNovember + 30) * 86'400'000;
    SECTION("after an earlier month")
    {
        const auto month = month_after({.utc_day = kOctober});
        CHECK(month.used == 50);
        CHECK(month.reset == end);
    }
    SECTION("after a clock that was ahead")
    {
        const auto month = month_after({.utc_day = kToday + 40});
        CHECK(month.used == 50);
        CHECK(month.reset == end);
    }
    SECTION("up to what a counter may hold")
    {
        std::vector<std::string> all_days;
        for (int day = 10; day <= 25; ++day) {
            all_days.push_back(std::to_string(day));
            all_days.emplace_back("9007199254740992");
        }
        REQUIRE(r.take(State{.utc_day = kOctober}.reply(), ledger({}),
                       ledger(all_days))
                == "");
        CHECK(r.usage.month.used == store::AccountState::kLargest);
    }
    SECTION("but not if it goes on")
    {
        CHECK(month_after({.utc_day = kNovember}).used == 300);
    }
    SECTION("but not for an account that was never charged")
    {
        CHECK(month_after({.usual_day = 0, .utc_day = 0}).used == 0);
    }
}

TEST_CASE("an account without a state has a ledger", "[store]")
{
    Reading r;
    REQUIRE(r.take(kNil, ledger({"01", "5"}), ledger({})) == "");
    CHECK(r.days() == Reading::Days{{kOctober, 5, 0}});
    CHECK_FALSE(r.usage.last_used.has_value());

    // A state that was emptied while the account was banned.
    REQUIRE(r.take(State{.usual_day = 0,
                         .month = 0,
                         .ban_until = kNow + 7,
                         .month_base = 0}
                       .reply(),
                   ledger({}), ledger({}))
            == "");
    CHECK(r.usage.banned_until == kNow + 7);
    CHECK_FALSE(r.usage.last_used.has_value());
}

TEST_CASE("damaged usage names its Redis key", "[store]")
{
    Reading r;
    const std::string state = "P:{a1}:state";
    CHECK(r.take(bulk("short"), ledger({}), ledger({})) == state);
    CHECK(r.take(State{.month_base = 301}.reply(), ledger({}), ledger({}))
          == state);
    CHECK(r.take(State{.utc_day = api::kLastDay + 1}.reply(), ledger({}),
                 ledger({}))
          == state);
    const std::string october = "P:{a1}:usage:202610";
    const std::string november = "P:{a1}:usage:202611";
    for (const char* value : {"", "x", "-1", "1.5", "1e3", "01",
                              "9007199254740993", "99999999999999999999"}) {
        INFO(value);
        CHECK(r.take(kNil, ledger({"05", value}), ledger({})) == october);
        CHECK(r.take(kNil, ledger({}), ledger({"05d", value})) == november);
    }
    // Sums that no script can count, here and with the running day.
    const std::string largest = "9007199254740992";
    CHECK(r.take(kNil, ledger({}), ledger({"05", largest, "05", "1"}))
          == november);
    CHECK(r.take(kNil, ledger({"05d", "1", "05d", largest}), ledger({}))
          == october);
    CHECK(r.take(State().reply(), ledger({}), ledger({"25", largest}))
          == november);
    CHECK(r.take(kNil, ledger({"32", "1"}), ledger({})) == october);
    CHECK(r.take(kNil, ledger({}), ledger({"31", "1"})) == november);
    CHECK(r.take(kNil, bulk("x"), ledger({})) == october);
    // What holds another type, according to the script.
    CHECK(r.take(integer(1)) == state);
    CHECK(r.take(integer(2)) == "P:{a1}:strikes");
    CHECK(r.take(integer(5)) == november);
    for (const std::string& other :
         {integer(0), integer(6), integer(-1), kNil, array({}), bulk("x")}) {
        CHECK(r.take(other) == state);
    }
}
