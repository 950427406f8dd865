#include "catch.h"

#include <iterator>
#include <optional>
#include <string>

#include "store/accounts/account_state.h"
#include "store_replies.h"

using namespace petstore;
using store::AccountState;

namespace {

constexpr std::int64_t kEpoch = 1795254442316000;

constexpr std::int64_t kDay = 86'400'000;

void check_windows(const std::optional<AccountState>& state)
{
    REQUIRE(state);
    CHECK(state->epoch == kEpoch);
    CHECK(state->minute_used == 60);
    CHECK(state->minute_end == 61000);
    CHECK(state->day_used == 1000);
    CHECK(state->day_end == 86401000);
    CHECK(state->month_used == 1200);
    CHECK(state->utc_day == 364);
    CHECK(state->month_end() == 365 * kDay);
}

// The end of December 1970.
const std::string kState =
    encode_numbers({kEpoch, 364, 60, 61000, 1000, 86401000, 1200, 0, 364, 300});

}  // namespace

TEST_CASE("an account's state is ten doubles", "[store]")
{
    REQUIRE(kState.size() == AccountState::kSize);
    // 60.0, the least significant byte first
    CHECK(kState.substr(16, 8) == std::string("\0\0\0\0\0\0\x4e\x40", 8));
    const auto state = AccountState::decode(kState);
    check_windows(state);
    CHECK(state->usual_day == 364);
    CHECK(state->ban_until == 0);
    CHECK(state->month_base == 300);
    CHECK(state->used_on_utc_day() == 900);
}

TEST_CASE("a state of a later version may be longer", "[store]")
{
    check_windows(AccountState::decode(kState + "x"));
    check_windows(AccountState::decode(kState + kState));
}

TEST_CASE("five doubles of an account's state are its windows", "[store]")
{
    const auto bytes = encode_numbers({60, 61000, 1000, 86401000, 1200});
    REQUIRE(bytes.size() == AccountState::kWindowsSize);
    CHECK(kState.substr(16, bytes.size()) == bytes);
    const auto decode = [](const std::string& windows) {
        return AccountState::decode_windows(kEpoch, 364, windows);
    };
    check_windows(decode(bytes));
    CHECK(decode(bytes)->ban_until == 0);
    CHECK_FALSE(decode(""));
    CHECK_FALSE(decode(bytes.substr(1)));
    CHECK_FALSE(decode(bytes + "x"));
    CHECK_FALSE(decode(encode_numbers({60, 61000, -1, 86401000, 1200})));
}

TEST_CASE("a month ends with the last day of it", "[store]")
{
    // 1970, 2000-02-28, 2000-02-29, 2030-11-30, 2030-12-31
    const std::int64_t days[] = {0, 11015, 11016, 22248, 22279};
    const std::int64_t ends[] = {31, 11017, 11017, 22249, 22280};
    for (std::size_t i = 0; i < std::size(days); ++i) {
        AccountState state;
        state.utc_day = days[i];
        CHECK(state.month_end() == ends[i] * kDay);
    }
}

TEST_CASE("bytes that are not ten whole numbers are not an account's state",
          "[store]")
{
    CHECK_FALSE(AccountState::decode(""));
    CHECK_FALSE(AccountState::decode(kState.substr(1)));
    CHECK_FALSE(AccountState::decode(kState.substr(0, 48)));  // of format 1
    AccountState good;
    good.month_used = 1LL << 53;
    CHECK(AccountState::decode(encode_state(good)));
    const auto refuses = [](AccountState state) {
        return !AccountState::decode(encode_state(state));
    };
    AccountState bad;
    bad.minute_used = -3;
    CHECK(refuses(bad));
    bad = {};
    bad.day_used = 1LL << 54;
    CHECK(refuses(bad));
    bad = {};
    bad.month_base = 1;  // more than the month has
    CHECK(refuses(bad));
    bad = {};
    bad.utc_day = 2'932'897;  // in the year 10000
    CHECK(refuses(bad));
    // 0.5, infinity, not a number, the largest, as doubles
    for (const auto& wrong :
         {std::string("\0\0\0\0\0\0\xe0\x3f", 8),
          std::string("\0\0\0\0\0\0\xf0\x7f", 8),
          std::string("\0\0\0\0\0\0\xf8\x7f", 8),
          std::string("\xff\xff\xff\xff\xff\xff\xef\x7f", 8)}) {
        CHECK_FALSE(AccountState::decode(kState.substr(0, 72) + wrong));
        CHECK_FALSE(AccountState::decode(wrong + kState.substr(8)));
    }
}
