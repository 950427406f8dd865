// The table of busy accounts, as several processes use it.
#include "metrics/busy_accounts.h"

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "catch.h"

using petstore::metrics::BusyAccount;
using petstore::metrics::BusyAccounts;
using Counted = BusyAccounts::Counted;

namespace {

constexpr std::uint64_t kMinute = 1'700'000'040;  // the start of one
static_assert(kMinute % 60 == 0);

// Where the only account of the table is.
std::size_t entry_of(const BusyAccounts& busy, std::uint64_t now)
{
    BusyAccount account;
    std::size_t entry = 0;
    while (entry < BusyAccounts::kSize && !busy.read(entry, now, account)) {
        ++entry;
    }
    REQUIRE(entry < BusyAccounts::kSize);
    return entry;
}

}  // namespace

TEST_CASE("busy accounts: a worker that is a minute behind resets nothing")
{
    const auto busy = std::make_unique<BusyAccounts>();
    busy->add("acme", "", 0, kMinute - 1);
    const std::size_t entry = entry_of(*busy, kMinute - 1);
    const auto shown = [&](std::uint64_t now) {
        BusyAccount account;
        REQUIRE(busy->read(entry, now, account));
        REQUIRE(std::string_view(account.id) == "acme");
        return std::lround(account.per_minute);
    };
    for (int i = 1; i < 40; ++i) {
        CHECK(busy->count("acme", 0, kMinute - 1) == Counted::yes);
    }
    // In the next minute for one worker, and still in the last for another.
    for (int i = 0; i < 10; ++i) {
        CHECK(busy->count("acme", 0, kMinute) == Counted::yes);
        CHECK(busy->count("acme", 0, kMinute - 1) == Counted::yes);
    }
    CHECK(shown(kMinute) == 60);
    CHECK(shown(kMinute - 1) == 60);
    CHECK(shown(kMinute + 30) == 40);
    // Nor does the one that is behind evict it.
    for (int i = 0; i < 1000; ++i) {
        busy->add("account" + std::to_string(i), "", 0, kMinute - 1);
    }
    CHECK(shown(kMinute) == 60);
}

TEST_CASE("busy accounts: a clock that is set back starts anew")
{
    constexpr std::uint64_t kBack = kMinute - 7200;
    const auto busy = std::make_unique<BusyAccounts>();
    BusyAccount account;
    busy->add("acme", "", 0, kMinute);
    const std::size_t entry = entry_of(*busy, kMinute);
    CHECK(busy->count("acme", 0, kMinute) == Counted::yes);
    CHECK(busy->wants_names(entry, kMinute, account));

    CHECK_FALSE(busy->read(entry, kBack, account));
    for (std::uint64_t passed = 0; passed < 600; passed += 60) {
        CAPTURE(passed);
        const auto now = kBack + passed;
        for (int i = 0; i < 20; ++i) {
            CHECK(busy->count("acme", 0, now) == Counted::yes);
        }
        REQUIRE(busy->read(entry, now + 59, account));
        CHECK(account.per_minute >= 20);
        CHECK(account.per_minute < 21);
        CHECK(busy->wants_names(entry, now, account));
        CHECK_FALSE(busy->wants_names(entry, now + 59, account));
        CHECK_FALSE(busy->wants_names(entry, now - 1, account));
    }
}

TEST_CASE("busy accounts: what a clock was ahead for makes room")
{
    const auto busy = std::make_unique<BusyAccounts>();
    for (int i = 0; i < 1000; ++i) {
        busy->add("account" + std::to_string(i), "", 0, kMinute);
    }
    CHECK(busy->count("acme", 0, kMinute) == Counted::no);
    CHECK(busy->count("acme", 0, kMinute - 60) == Counted::no);
    CHECK(busy->count("acme", 0, kMinute - 7200)
          == Counted::no_but_there_is_room);
}

TEST_CASE("busy accounts: counting goes on while names are set")
{
    const auto busy = std::make_unique<BusyAccounts>();
    busy->add("acme", "", 0, kMinute);
    const std::size_t entry = entry_of(*busy, kMinute);
    std::mutex table;
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (int i = 0; !stop; ++i) {
            const char c = static_cast<char>('a' + i % 26);
            const std::lock_guard lock(table);
            busy->set_names("acme", "", std::string(127, c));
        }
    });
    int torn = 0;
    for (int i = 0; i < 100'000; ++i) {
        BusyAccount account;
        busy->count("acme", 0, kMinute);  // without the lock
        const std::lock_guard lock(table);
        if (busy->read(entry, kMinute, account)) {
            const std::string_view label = account.label;
            torn += label.find_first_not_of(label.substr(0, 1))
                            == std::string_view::npos
                        ? 0
                        : 1;
        }
    }
    stop = true;
    writer.join();
    CHECK(torn == 0);
    CHECK(busy->count("acme", 0, kMinute) == Counted::yes);
    CHECK(entry_of(*busy, kMinute) == entry);  // the last label is whole
}

TEST_CASE("busy accounts: an account that replaces another wants names")
{
    const auto busy = std::make_unique<BusyAccounts>();
    BusyAccount account;
    busy->add("acme", "", 0, kMinute);
    const std::size_t entry = entry_of(*busy, kMinute);
    CHECK(busy->wants_names(entry, kMinute, account));
    CHECK_FALSE(busy->wants_names(entry, kMinute + 59, account));
    // An idle account does not count as read.
    CHECK_FALSE(busy->wants_names(entry, kMinute + 180, account));
    CHECK(busy->count("acme", 0, kMinute + 181) == Counted::yes);
    CHECK(busy->wants_names(entry, kMinute + 181, account));
    for (int i = 0; std::string_view(account.id) == "acme"; ++i) {
        REQUIRE(i < 1000);
        busy->add("account" + std::to_string(i), "", 0, kMinute + 250);
        busy->read(entry, kMinute + 250, account);
    }
    CHECK(busy->wants_names(entry, kMinute + 240, account));
}

TEST_CASE("busy accounts: plan and external id are those of the last minute")
{
    const auto busy = std::make_unique<BusyAccounts>();
    BusyAccount account;
    busy->add("acme", "cust_1", 3, kMinute);
    const std::size_t entry = entry_of(*busy, kMinute);
    REQUIRE(busy->read(entry, kMinute, account));
    CHECK(account.plan == 3);
    CHECK(busy->count("acme", 4, kMinute) == Counted::yes);
    busy->set_names("acme", "cust_2", "Acme");
    busy->set_names("other", "cust_3", "Other");
    REQUIRE(busy->read(entry, kMinute, account));
    CHECK(account.plan == 4);
    CHECK(std::string_view(account.external_id) == "cust_2");
    CHECK(std::string_view(account.label) == "Acme");
    busy->set_names("acme", "", "");
    REQUIRE(busy->read(entry, kMinute, account));
    CHECK(std::string_view(account.external_id).empty());
}
