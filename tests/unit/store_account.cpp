#include "catch.h"

#include <string>
#include <vector>

#include "store/accounts/account.h"
#include "store/keys/key_cache.h"

using namespace petstore;
using api::Verdict;
using store::Account;
using store::KeyCache;
using store::Monotonic;

namespace {

constexpr std::int64_t kEpoch = 77;
constexpr api::Limits kLimits{60, 1000};
constexpr api::Millis kRedisNow = 1'000'000;

// The minute is used up and ends `ends_in` milliseconds from now.
api::Decision limited(api::Millis ends_in = 30'000)
{
    api::Decision decision;
    decision.verdict = Verdict::limited;
    decision.minute = {60, 60, kRedisNow + ends_in};
    decision.day = {1000, 70, kRedisNow + 80'000'000};
    decision.now = kRedisNow;
    return decision;
}

api::Decision admitted()
{
    auto decision = limited();
    decision.verdict = Verdict::admitted;
    decision.minute.used = 3;
    return decision;
}

api::Decision banned(api::Millis ends_in)
{
    auto decision = limited();
    decision.verdict = Verdict::banned;
    decision.ban_until = kRedisNow + ends_in;
    return decision;
}

bool denies(const Account& account, Monotonic now)
{
    return account.denial(kLimits, kEpoch, 1, now).has_value();
}

}  // namespace

TEST_CASE("an account that Redis has not decided on has no denial", "[store]")
{
    const Account account("a");
    CHECK(account.id() == "a");
    CHECK_FALSE(denies(account, 0));
    CHECK_FALSE(account.has_denials());
}

TEST_CASE("a denial is repeated for less than a second after it was sent",
          "[store]")
{
    Account account("a");
    account.remember(limited(), kEpoch, 5000, 5020);
    CHECK(denies(account, 5020));
    CHECK(denies(account, 5899));
    CHECK_FALSE(denies(account, 5900));
}

TEST_CASE("a denial ends with the window that it is for", "[store]")
{
    Account account("a");
    account.remember(limited(300), kEpoch, 5000, 5020);
    CHECK(denies(account, 5299));
    CHECK_FALSE(denies(account, 5300));
    account.remember(banned(200), kEpoch, 6000, 6020);
    CHECK(denies(account, 6199));
    CHECK_FALSE(denies(account, 6200));
    // Redis's clock is past the end already.
    account.remember(limited(-5), kEpoch, 7000, 7020);
    CHECK_FALSE(denies(account, 7020));
}

TEST_CASE("a denial from memory extrapolates Redis's clock", "[store]")
{
    Account account("a");
    account.remember(limited(), kEpoch, 5000, 5020);
    const auto decision = account.denial(kLimits, kEpoch, 1, 5420);
    REQUIRE(decision);
    CHECK(decision->verdict == Verdict::limited);
    CHECK(decision->now == kRedisNow + 400);
    CHECK(decision->minute.limit == 60);
    CHECK(decision->minute.used == 60);
    CHECK(decision->minute.reset == kRedisNow + 30'000);
}

TEST_CASE("a denial from memory shows no window that has ended", "[store]")
{
    Account account("a");
    auto by_day = limited(300);
    by_day.day.used = 1000;
    account.remember(by_day, kEpoch, 5000, 5000);
    const auto decision = account.denial(kLimits, kEpoch, 1, 5300);
    REQUIRE(decision);
    CHECK(decision->minute.used == 0);
    CHECK(decision->minute.reset == kRedisNow + 300 + 60'000);
    CHECK(decision->day.used == 1000);
    CHECK(decision->day.reset == by_day.day.reset);
}

TEST_CASE("a denial is repeated by the limits of the key that is used",
          "[store]")
{
    Account account("a");
    account.remember(limited(), kEpoch, 5000, 5000);
    CHECK(account.denial({60, 1000}, kEpoch, 1, 5100));
    // Redis would admit it.
    CHECK_FALSE(account.denial({61, 1000}, kEpoch, 1, 5100));
    const auto lower = account.denial({59, 1001}, kEpoch, 1, 5100);
    REQUIRE(lower);
    CHECK(lower->verdict == Verdict::limited);
    CHECK(lower->minute.limit == 59);
    CHECK(lower->minute.used == 60);
    CHECK(lower->day.limit == 1001);
    // The account's 70 requests of this day are enough for this key.
    const auto by_day = account.denial({61, 70}, kEpoch, 1, 5100);
    REQUIRE(by_day);
    CHECK(api::rate_view(*by_day).limit == 70);
}

TEST_CASE("a ban is repeated for all keys, with the limits of each", "[store]")
{
    Account account("a");
    auto decision = banned(200'000);
    decision.month = {0, 5000, 0};
    account.remember(decision, kEpoch, 5000, 5000);
    const auto higher = account.denial({300, 9000}, kEpoch, 1, 5100);
    REQUIRE(higher);
    CHECK(higher->verdict == Verdict::banned);
    CHECK(higher->minute.limit == 300);
    CHECK(higher->minute.used == 60);
    CHECK(higher->day.limit == 9000);
    CHECK(higher->month.limit == 0);
    // Of a key with a monthly limit, where the banned one had none.
    const auto monthly = account.denial({60, 1000, 6000}, kEpoch, 1, 5100);
    REQUIRE(monthly);
    CHECK(monthly->month.limit == 6000);
    CHECK(monthly->month.used == 5000);
    CHECK(monthly->month.reset == 31 * 86'400'000LL);  // kRedisNow is in 1970
}

TEST_CASE("a denial is repeated only for costs that find too little left",
          "[store]")
{
    Account account("a");
    api::Decision decision = limited();
    decision.cost = 20;
    decision.minute.used = 50;
    decision.day = {1000, 995, kRedisNow + 80'000'000};
    account.remember(decision, kEpoch, 5000, 5000);
    CHECK_FALSE(
        account.denial(kLimits, kEpoch, 5, 5100));  // Redis may admit it
    const auto denial = account.denial(kLimits, kEpoch, 6, 5100);
    REQUIRE(denial);
    CHECK(denial->verdict == Verdict::limited);
    CHECK(denial->cost == 6);
    CHECK(denial->minute.used == 50);

    // The minute has 10 left, and its end does not matter to the day.
    decision.minute.reset = kRedisNow + 200;
    account.remember(decision, kEpoch, 6000, 6000);
    CHECK(account.denial(kLimits, kEpoch, 11, 6300));
    decision.day.used = 0;
    account.remember(decision, kEpoch, 7000, 7000);
    CHECK(account.denial(kLimits, kEpoch, 11, 7199));
    CHECK_FALSE(account.denial(kLimits, kEpoch, 11, 7200));

    // A ban denies all.
    account.remember(banned(200'000), kEpoch, 8000, 8000);
    CHECK(account.denial(kLimits, kEpoch, 1, 8100));
}

TEST_CASE("a denial by the month is repeated", "[store]")
{
    constexpr api::Limits kMonthly{60, 1000, 5000};
    Account account("a");
    api::Decision decision = limited();
    decision.minute.used = 1;
    decision.month = {5000, 5000, kRedisNow + 80'000'000};
    account.remember(decision, kEpoch, 5000, 5000);
    CHECK(account.denial(kMonthly, kEpoch, 1, 5100));
    CHECK_FALSE(account.denial({60, 1000, 5001}, kEpoch, 1, 5100));
    CHECK_FALSE(account.denial(kLimits, kEpoch, 1, 5100));
}

TEST_CASE("an admission or an operator's change ends a denial", "[store]")
{
    Account account("a");
    account.remember(limited(), kEpoch, 5000, 5000);
    account.remember(admitted(), kEpoch, 5100, 5100);
    CHECK_FALSE(denies(account, 5100));

    account.remember(limited(), kEpoch, 5200, 5200);
    account.forget_denial();
    CHECK_FALSE(denies(account, 5200));
}

TEST_CASE("a denial is not that of a key with an older epoch", "[store]")
{
    Account account("a");
    account.remember(limited(), kEpoch, 5000, 5000);
    CHECK_FALSE(account.denial(kLimits, kEpoch - 1, 1, 5100));
    CHECK(account.denial(kLimits, kEpoch, 1, 5100));
    CHECK(account.denial(kLimits, kEpoch + 1, 1, 5100));
}

TEST_CASE("a denial needs confirmation half a second after it was sent",
          "[store]")
{
    Account account("a");
    account.remember(limited(), kEpoch, 5000, 5020);
    CHECK_FALSE(account.needs_confirmation(5499));
    CHECK(account.needs_confirmation(5500));
    CHECK(denies(account, 5500));
    account.remember(limited(), kEpoch, 5500, 5510);
    CHECK_FALSE(account.needs_confirmation(5999));
}

TEST_CASE("denials above the ban threshold have to be reported first",
          "[store]")
{
    Account account("a");
    api::BanPolicy policy;
    policy.threshold = 3;
    const api::Limits limits{2, 10};
    CHECK_FALSE(account.count_strike(policy, limits, 1000));
    CHECK_FALSE(account.count_strike(policy, limits, 1000));
    CHECK_FALSE(account.count_strike(policy, limits, 1000));
    CHECK(account.count_strike(policy, limits, 1000));
    CHECK(account.has_denials());
    const auto taken = account.take_denials(policy, 1000);
    CHECK(taken.strikes == 4);
    CHECK_FALSE(account.has_denials());
    CHECK(account.take_denials(policy, 1000).strikes == 0);
    account.settle_denials(taken, store::ReportEnd::accepted, 1000);

    // A higher minute limit raises the threshold.
    const api::Limits higher{5, 10};
    for (int i = 0; i < 5; ++i) {
        CHECK_FALSE(account.count_strike(policy, higher, 1000));
    }
    CHECK(account.count_strike(policy, higher, 1000));
}

TEST_CASE("strikes of a key are not reported with another's lower limit",
          "[store]")
{
    Account account("a");
    api::BanPolicy policy;
    policy.threshold = 3;
    const api::Limits high{50, 1000};
    account.count_strike(policy, {2, 10}, 1000);
    account.count_strike(policy, high, 1000);
    account.count_strike(policy, {2, 10}, 1000);
    CHECK(account.take_denials({false}, 1000).minute == 0);
    const auto taken = account.take_denials(policy, 1000);
    CHECK(taken.minute == 50);
    account.count_strike(policy, {2, 10}, 1000);
    CHECK(account.take_denials(policy, 1000).minute == 2);
    account.count_strike(policy, {2, 10}, 1000);
    account.settle_denials(taken, store::ReportEnd::refused, 1000);
    CHECK(account.take_denials(policy, 1000).minute == 50);
}

TEST_CASE("new denials add to those that Redis has counted", "[store]")
{
    Account account("a");
    api::BanPolicy policy;
    policy.threshold = 10;
    policy.window = 60;
    const api::Limits limits{2, 10};
    account.set_reported(9, 1000);
    CHECK_FALSE(account.count_strike(policy, limits, 1001));
    CHECK(account.count_strike(policy, limits, 60'999));
    // Denials expire one window after their report.
    CHECK(account.take_denials(policy, 60'999).strikes == 2);
    CHECK_FALSE(account.count_strike(policy, limits, 61'000));
    CHECK(account.take_denials(policy, 61'000).strikes == 1);
}

TEST_CASE("denials that did not reach Redis are reported again", "[store]")
{
    Account account("a");
    const api::BanPolicy policy;
    account.count_strike(policy, kLimits, 1000);
    const auto taken = account.take_denials(policy, 1000);
    account.count_strike(policy, kLimits, 1000);
    account.settle_denials(taken, store::ReportEnd::refused, 1000);
    CHECK(account.take_denials(policy, 1000).strikes == 2);
}

TEST_CASE("refused strikes are dropped after one window, as usage is not",
          "[store]")
{
    Account account("a");
    const api::Limits limits{1, 1000};
    api::BanPolicy policy;
    policy.threshold = 8;
    policy.window = 5;
    for (int i = 0; i < 3; ++i) {
        CHECK_FALSE(account.count_strike(policy, limits, 1000));
    }
    SECTION("while new ones are counted")
    {
        for (Monotonic now = 2000; now < 40'000; now += 1000) {
            const auto taken = account.take_denials(policy, now);
            account.settle_denials(taken, store::ReportEnd::refused, now);
            CHECK_FALSE(account.count_strike(policy, limits, now + 600));
        }
        const auto taken = account.take_denials(policy, 40'000);
        CHECK(taken.all == 3 + 38);
        CHECK(taken.strikes <= 5);
        CHECK(40'000 - taken.since < 5000);
    }
    SECTION("while none are")
    {
        const auto taken = account.take_denials(policy, 1500);
        CHECK(taken.since == 1000);
        account.settle_denials(taken, store::ReportEnd::refused, 1500);
        CHECK(account.take_denials({false}, 5999).all == 3);
        CHECK(account.take_denials(policy, 5999).strikes == 3);
        account.settle_denials(taken, store::ReportEnd::refused, 5999);
        const auto late = account.take_denials(policy, 6000);
        CHECK(late.strikes == 0);
        CHECK(late.all == 3);
    }
}

TEST_CASE("returned strikes are as old as the oldest of them", "[store]")
{
    Account account("a");
    const api::BanPolicy policy;
    account.count_strike(policy, kLimits, 1000);
    const auto first = account.take_denials(policy, 1500);
    account.count_strike(policy, kLimits, 1600);
    account.settle_denials(first, store::ReportEnd::refused, 1700);
    const auto both = account.take_denials(policy, 1800);
    CHECK(both.strikes == 2);
    CHECK(both.since == 1000);
    account.settle_denials(both, store::ReportEnd::accepted, 1900);
    account.count_strike(policy, kLimits, 2000);
    CHECK(account.take_denials(policy, 2000).since == 2000);
}

TEST_CASE("after a failed report an account is left alone for half a second",
          "[store]")
{
    Account account("a");
    api::BanPolicy policy;
    policy.threshold = 60;
    account.remember(limited(), kEpoch, 1000, 1000);
    account.add_unreported({70, 70, 60, 1000});
    CHECK(account.count_strike(policy, kLimits, 1500));
    CHECK(account.needs_confirmation(1500));
    const auto taken = account.take_denials(policy, 1500);
    SECTION("refused")
    {
        account.settle_denials(taken, store::ReportEnd::refused, 1510);
        CHECK_FALSE(account.count_strike(policy, kLimits, 2009));
        CHECK_FALSE(account.needs_confirmation(2009));
        CHECK(account.count_strike(policy, kLimits, 2010));
        CHECK(account.needs_confirmation(2010));
    }
    SECTION("unknown: the strikes are not counted again")
    {
        account.settle_denials(taken, store::ReportEnd::unknown, 1510);
        CHECK_FALSE(account.needs_confirmation(2009));
        CHECK(account.needs_confirmation(2010));
        CHECK_FALSE(account.count_strike(policy, kLimits, 2010));
    }
    SECTION("refused, then accepted")
    {
        account.settle_denials(taken, store::ReportEnd::refused, 1510);
        account.settle_denials(account.take_denials(policy, 1520),
                               store::ReportEnd::accepted, 1530);
        CHECK(account.needs_confirmation(1530));
    }
}

TEST_CASE("an account may outlive the cache", "[store]")
{
    store::Ref<Account> account;
    {
        KeyCache cache(1 << 20);
        account = cache.account("a");
    }
    CHECK(account->id() == "a");
}

TEST_CASE("the keys of an account share its state", "[store]")
{
    KeyCache cache(1 << 20);
    auto account = cache.account("a");
    CHECK(cache.account("a") == account);
    CHECK(cache.account("b") != account);
    account->add_unreported({5, 5});
    CHECK(cache.account("a")->has_denials());
    account.reset();
    // It is dropped with its last user.
    CHECK_FALSE(cache.account("a")->has_denials());
}

TEST_CASE("the index counts the memory of accounts in use", "[store]")
{
    store::AccountIndex index;
    {
        const auto first = index.get("x");
        const auto second = index.get("y");
    }  // the table has grown to its size
    const auto empty = index.bytes();
    {
        const auto first = index.get("an account whose name needs memory");
        const auto one = index.bytes();
        CHECK(one > empty + sizeof(Account));
        const auto again = index.get("an account whose name needs memory");
        CHECK(index.bytes() == one);
        const auto second = index.get("b");
        CHECK(index.bytes() > one + sizeof(Account));
    }
    CHECK(index.bytes() == empty);
}

TEST_CASE("an index finds each of many accounts until its last user leaves",
          "[store]")
{
    store::AccountIndex index;
    std::vector<store::Ref<Account>> accounts;
    for (int i = 0; i < 1000; ++i) {
        accounts.push_back(index.get("a" + std::to_string(i)));
        accounts.back()->add_unreported({i + 1, i + 1});
    }
    for (int i = 0; i < 1000; i += 2) {
        accounts[static_cast<std::size_t>(i)].reset();
    }
    for (int i = 0; i < 1000; ++i) {
        const auto account = index.get("a" + std::to_string(i));
        CHECK(account->take_denials({}, 0).strikes == (i % 2 == 0 ? 0 : i + 1));
    }
}

TEST_CASE("an index finds its accounts at each size of its table", "[store]")
{
    store::AccountIndex index;
    std::vector<store::Ref<Account>> accounts;
    while (accounts.size() < 300) {
        accounts.push_back(index.get("a" + std::to_string(accounts.size())));
        for (std::size_t i = 0; i < accounts.size(); ++i) {
            REQUIRE(index.get("a" + std::to_string(i)) == accounts[i]);
        }
    }
    const auto full = index.bytes();
    accounts.clear();
    CHECK(index.bytes() < full - 300 * sizeof(Account));
}

TEST_CASE("a denied account stores its denials separately", "[store]")
{
    Account account("a");
    const auto before = account.bytes();
    account.remember(admitted(), kEpoch, 100, 110);
    CHECK(account.bytes() == before);
    account.remember(limited(), kEpoch, 200, 210);
    CHECK(account.bytes() > before + sizeof(api::Decision));
}
