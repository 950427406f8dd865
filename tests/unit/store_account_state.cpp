#include "catch.h"

#include <optional>
#include <string>

#include "store/accounts/account_state.h"
#include "store_replies.h"

using namespace petstore;
using store::AccountState;

namespace {

constexpr std::int64_t kEpoch = 1795254442316000;

void check_numbers(const std::optional<AccountState>& state)
{
    REQUIRE(state);
    CHECK(state->epoch == kEpoch);
    CHECK(state->ban_until == 0);
    CHECK(state->minute_used == 60);
    CHECK(state->minute_end == 61000);
    CHECK(state->day_used == 1000);
    CHECK(state->day_end == 86401000);
}

}  // namespace

TEST_CASE("an account's state is six doubles", "[store]")
{
    const auto bytes = encode_numbers({kEpoch, 0, 60, 61000, 1000, 86401000});
    REQUIRE(bytes.size() == AccountState::kSize);
    // 60.0, the least significant byte first
    CHECK(bytes.substr(16, 8) == std::string("\0\0\0\0\0\0\x4e\x40", 8));
    check_numbers(AccountState::decode(bytes));
}

TEST_CASE("the last four doubles of an account's state are its windows",
          "[store]")
{
    const auto bytes = encode_numbers({60, 61000, 1000, 86401000});
    REQUIRE(bytes.size() == AccountState::kWindowsSize);
    check_numbers(AccountState::decode_windows(kEpoch, bytes));
    CHECK_FALSE(AccountState::decode_windows(kEpoch, ""));
    CHECK_FALSE(AccountState::decode_windows(kEpoch, bytes.substr(1)));
    CHECK_FALSE(AccountState::decode_windows(kEpoch, bytes + "x"));
    CHECK_FALSE(AccountState::decode_windows(
        kEpoch, encode_numbers({60, 61000, -1, 86401000})));
}

TEST_CASE("bytes that are not six whole numbers are not an account's state",
          "[store]")
{
    const auto good = encode_numbers({1, 2, 3, 4, 5, 6});
    CHECK_FALSE(AccountState::decode(""));
    CHECK_FALSE(AccountState::decode(good.substr(1)));
    CHECK_FALSE(AccountState::decode(good + "x"));
    CHECK_FALSE(AccountState::decode(encode_numbers({1, 2, -3, 4, 5, 6})));
    CHECK(AccountState::decode(encode_numbers({1, 2, 1LL << 53, 4, 5, 6})));
    CHECK_FALSE(
        AccountState::decode(encode_numbers({1, 2, 1LL << 54, 4, 5, 6})));
    // 0.5, infinity, not a number, the largest, as doubles
    for (const auto& wrong :
         {std::string("\0\0\0\0\0\0\xe0\x3f", 8),
          std::string("\0\0\0\0\0\0\xf0\x7f", 8),
          std::string("\0\0\0\0\0\0\xf8\x7f", 8),
          std::string("\xff\xff\xff\xff\xff\xff\xef\x7f", 8)}) {
        CHECK_FALSE(AccountState::decode(good.substr(0, 40) + wrong));
        CHECK_FALSE(AccountState::decode(wrong + good.substr(8)));
    }
}
