#include "store/accounts/usage_administration.h"

#include <string>
#include <vector>

#include "catch.h"
#include "fake_link.h"
#include "key_world.h"

using namespace petstore;
using store::Refusal;

namespace {

constexpr api::Day kToday = 20782;  // 2026-11-25
constexpr std::int64_t kNow = kToday * 86'400;
constexpr api::UsagePeriod kLastDays{kToday - 1, kToday};

std::string record(const std::string& id)
{
    return array({bulk("id"), bulk(id), bulk("created"), bulk("1700000000"),
                  bulk("epoch"), bulk("17"), bulk("label"), bulk("L")});
}

std::string no_ledger()
{
    return array({});
}

std::string november(const std::string& field, const std::string& value)
{
    return array({bulk(field), bulk(value)});
}

// The reply to read_usage.lua for an account without a state.
std::string counts(const std::vector<std::string>& ledgers)
{
    std::vector<std::string> parts = {bulk(std::to_string(kNow)), bulk("0"),
                                      kNil, kNil, kNil};
    parts.insert(parts.end(), ledgers.begin(), ledgers.end());
    return array(parts);
}

// Of one that was used today.
std::string used_today()
{
    const std::int64_t end = (kNow + 60) * 1000;
    return array(
        {bulk(std::to_string(kNow)), bulk("0"),
         bulk(encode_numbers({17, kToday, 4, end, 4, end, 9, 0, kToday, 5})),
         kNil, kNil, no_ledger()});
}

struct Reading {
    FakeLink link;
    const store::Schema schema{"P"};
    store::Operations running;
    Result<api::AccountUsage> one;
    Result<store::UsageListing> several;

    store::StoreLinks links() { return {link, link, schema}; }
    void read(const std::string& id, const api::UsagePeriod& period)
    {
        store::run(running, store::read_usage(links(), id, period), one);
    }
    void list(const std::vector<std::string>& ids)
    {
        store::run(running, store::list_usage(links(), ids, kLastDays),
                   several);
    }
};

}  // namespace

TEST_CASE("usage of one account is its record, then one call", "[store]")
{
    Reading r;
    r.read("a1", kLastDays);
    CHECK(r.link.commands.at(0) == FakeLink::Words{"HGETALL", "P:account:a1"});
    r.link.reply(record("a1"));
    CHECK(r.link.commands.at(0).at(0) == "EVALSHA");
    CHECK(r.link.commands.at(0).at(3) == "P:{a1}:state");
    CHECK(r.link.commands.at(0).back() == "P:{a1}:usage:202611");
    r.link.reply(used_today());
    CHECK(r.link.commands.empty());
    CHECK(r.one.value().account.label == "L");
    CHECK(r.one.value().last_used == kToday);
    REQUIRE(r.one.value().days.size() == 1);
    CHECK(r.one.value().days[0].admitted == 4);
}

TEST_CASE("the last use is looked up where the state does not have it",
          "[store]")
{
    Reading r;
    r.read("a1", kLastDays);
    r.link.reply(record("a1"));
    r.link.reply(counts({november("24d", "3")}));
    // All months that are kept.
    const auto& command = r.link.commands.at(0);
    CHECK(command.at(6) == "P:{a1}:usage:202510");
    CHECK(command.back() == "P:{a1}:usage:202611");
    std::vector<std::string> ledgers(14, no_ledger());
    SECTION("in another month")
    {
        ledgers[2] = array({bulk("31"), bulk("1"), bulk("05"), bulk("9")});
        r.link.reply(counts(ledgers));
        CHECK(api::iso_date(*r.one.value().last_used) == "2025-12-31");
    }
    SECTION("nowhere: what was denied is no use")
    {
        ledgers[13] = november("24d", "3");
        r.link.reply(counts(ledgers));
        CHECK_FALSE(r.one.value().last_used.has_value());
    }
    REQUIRE(r.one.value().days.size() == 1);
    CHECK(r.one.value().days[0].denied == 3);
}

TEST_CASE("the ledger of a month that has begun is read", "[store]")
{
    const auto used_in_may = [](const std::vector<std::string>& ledgers) {
        constexpr api::Day kMay = kToday - 200;
        std::vector<std::string> parts = {
            bulk(std::to_string(kNow)), bulk("0"),
            bulk(encode_numbers({17, kMay, 0, 0, 0, 0, 9, 0, kMay, 5})), kNil,
            kNil};
        parts.insert(parts.end(), ledgers.begin(), ledgers.end());
        return array(parts);
    };
    Reading r;
    SECTION("with the others")
    {
        r.read("a1", kLastDays);
        r.link.reply(record("a1"));
        r.link.reply(used_in_may({november("07", "50")}));
    }
    SECTION("alone, if they are of other months")
    {
        r.read("a1", {kToday - 40, kToday - 40});
        r.link.reply(record("a1"));
        r.link.reply(used_in_may({no_ledger()}));
        CHECK(r.link.commands.at(0).back() == "P:{a1}:usage:202611");
        r.link.reply(used_in_may({november("07", "50")}));
    }
    SECTION("alone, if only windows are asked for")
    {
        r.read("a1", api::UsagePeriod::none());
        r.link.reply(record("a1"));
        r.link.reply(used_in_may({}));
        r.link.reply(used_in_may({november("07", "50")}));
    }
    REQUIRE(r.one.calls == 1);
    CHECK(r.one.value().month.used == 50);
}

TEST_CASE("usage of an unknown or damaged account is refused", "[store]")
{
    Reading r;
    r.read("a1", kLastDays);
    SECTION("unknown")
    {
        r.link.reply(array({}));
        CHECK(r.one.refusal() == Refusal::account_not_found);
        CHECK_FALSE(r.one.message().find("a1") != std::string::npos);
    }
    SECTION("a damaged record")
    {
        r.link.reply(array({bulk("id"), bulk("other")}));
        CHECK(r.one.refusal() == Refusal::damaged);
        CHECK(r.one.message() == "the record of account a1 is damaged");
    }
    SECTION("a damaged ledger")
    {
        r.link.reply(record("a1"));
        r.link.reply(counts({november("24", "-3")}));
        CHECK(r.one.refusal() == Refusal::damaged);
        CHECK(r.one.message()
              == "the Redis key P:{a1}:usage:202611 is damaged");
    }
    SECTION("a lost reply")
    {
        r.link.reply(record("a1"));
        r.link.lose(redis::NoReply::in_doubt);
        CHECK(r.one.refusal() == Refusal::none);
    }
    CHECK(r.one.calls == 1);
}

TEST_CASE("usage of several accounts leaves out what is damaged or gone",
          "[store]")
{
    Reading r;
    r.list({"a1", "a2", "a3", "a4", "a5"});
    REQUIRE(r.link.commands.size() == 5);
    r.link.reply(array({}), 4);
    CHECK(r.link.commands.at(4) == FakeLink::Words{"HGET", "P:accounts", "a5"});
    r.link.reply(bulk("1600000000"), 4);
    r.link.reply(array({}), 4);  // it was not being created
    r.link.reply(record("a4"), 3);
    r.link.reply(used_today(), 3);
    r.link.reply(array({}), 2);  // a3
    r.link.reply(kNil, 2);
    r.link.reply(bulk("damaged"), 1);  // a2
    r.link.reply(record("a1"));
    r.link.reply(used_today());
    const auto& listing = r.several.value();
    REQUIRE(listing.accounts.size() == 2);
    CHECK(listing.accounts[0].account.id == "a1");
    CHECK(listing.accounts[1].account.id == "a4");
    CHECK(
        listing.damaged
        == std::vector<std::string>{
            "account a5 is listed but has no record: an interrupted command left it, or Redis has lost it. Restore a backup, or remove the entry with petstorectl account delete a5",
            "the record of account a2 is damaged"});
}

TEST_CASE("many accounts are read at once, but not too many", "[store]")
{
    Reading r;
    std::vector<std::string> ids;
    ids.reserve(1000);
    for (int i = 0; i < 1000; ++i) {
        ids.push_back("a" + std::to_string(i));
    }
    r.list(ids);
    CHECK(r.link.commands.size() == 256);
    SECTION("all answer")
    {
        while (!r.link.commands.empty()) {
            CHECK(r.link.commands.size() <= 256);
            const auto command = r.link.commands[0];
            const std::string id = command[1].substr(10);
            r.link.reply(command[0] == "HGETALL" ? record(id) : used_today());
        }
        CHECK(r.several.value().accounts.size() == 1000);
    }
    SECTION("no more are asked for after a failure")
    {
        r.link.lose(redis::NoReply::in_doubt);
        while (!r.link.commands.empty()) {
            r.link.reply(bulk("damaged"));
        }
        CHECK(r.several.failed());
        CHECK(r.link.sent.size() == 256);
    }
}

TEST_CASE("accounts are listed by their creation", "[store]")
{
    Reading r;
    Result<std::vector<std::string>> ids;
    store::run(r.running, store::list_account_ids(r.links()), ids);
    CHECK(r.link.commands.at(0)
          == FakeLink::Words{"HSCAN", "P:accounts", "0", "COUNT", "1000"});
    r.link.reply(
        array({bulk("7"), array({bulk("b"), bulk("20"), bulk("a"), bulk("20"),
                                 bulk("no id"), bulk("1")})}));
    r.link.reply(array({bulk("0"), array({bulk("c"), bulk("3"), bulk("b"),
                                          bulk("20"), bulk("d"), bulk("x")})}));
    CHECK(ids.value() == std::vector<std::string>{"d", "c", "a", "b"});
}
