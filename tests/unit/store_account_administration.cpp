#include "catch.h"

#include <string>

#include "fake_link.h"
#include "key_world.h"
#include "store/accounts/account_administration.h"

using namespace petstore;
using store::AccountAdministration;
using store::AccountUsage;
using store::Refusal;

namespace {

struct Accounts {
    FakeLink link;
    const store::Schema schema{"P"};
    AccountAdministration accounts{{link, link, schema}};
    Result<bool> unbanned;
    Result<AccountUsage> usage;
};

std::string time(std::int64_t seconds)
{
    return array({bulk(std::to_string(seconds)), bulk("500000")});
}

}  // namespace

TEST_CASE("the time is that of Redis", "[store]")
{
    Accounts a;
    Result<api::UnixTime> now;
    a.accounts.now(now);
    a.link.reply(time(1700000000));
    CHECK(now.value() == 1700000000);
}

TEST_CASE("usage is read from the state, strikes and bans", "[store]")
{
    Accounts a;
    a.accounts.usage("a1", a.usage);
    a.link.reply(bulk("3"));
    a.link.reply(bulk("2"));
    a.link.reply(time(1000));
    const auto last = a.link.commands.at(0);
    CHECK(last == FakeLink::Words{"GET", "P:{a1}:state"});
    SECTION("of open windows, and a ban")
    {
        a.link.reply(bulk(
            encode_state({7, 0, 5, 1'000'501, 40, 1'000'500, 40, 2'000'000})));
        CHECK(a.usage.value().minute.used == 5);
        CHECK(a.usage.value().minute.reset == 1'000'501);
        CHECK(a.usage.value().day.used == 0);
        CHECK(a.usage.value().banned_until == 2'000'000);
    }
    SECTION("of an account without a state")
    {
        a.link.reply(kNil);
        CHECK(a.usage.value().minute.used == 0);
    }
    SECTION("of a damaged one")
    {
        a.link.reply(bulk("x"));
        CHECK(a.usage.refusal() == Refusal::damaged);
        CHECK(a.usage.message() == "the state of account a1 is damaged");
        return;
    }
    CHECK(a.usage.value().strikes == 3);
    CHECK(a.usage.value().bans == 2);
}

TEST_CASE("an account's ban ends, and workers read its keys again", "[store]")
{
    Accounts a;
    a.accounts.unban("a1", a.unbanned);
    REQUIRE(a.link.commands.size() == 1);
    CHECK(a.link.commands[0]
          == FakeLink::Words{"EVALSHA", store::scripts::unban().sha1, "3",
                             "P:{a1}:state", "P:{a1}:strikes", "P:{a1}:bans"});
    SECTION("what is lost may not be in effect")
    {
        a.link.lose(redis::NoReply::in_doubt);
        CHECK(a.unbanned.failure().not_in_effect);
        return;
    }
    a.link.reply(integer(1));
    CHECK(a.link.commands.at(0)
          == FakeLink::Words{"EVALSHA", store::scripts::touch_account().sha1,
                             "1", "P:{a1}:state", "", ""});
    SECTION("on one server")
    {
        a.link.reply(integer(17));
        CHECK(a.unbanned.value());
    }
    SECTION("in a Cluster, after reading the marker")
    {
        a.link.reply(integer(-1));
        CHECK(a.link.commands.at(0)
              == FakeLink::Words{"GET", "P:limits-place"});
        a.link.reply(kNil);
        CHECK(a.link.commands.at(0)
              == FakeLink::Words{"EVALSHA",
                                 store::scripts::touch_account().sha1, "1",
                                 "P:{a1}:state", "", "1"});
        a.link.reply(integer(18));
        CHECK(a.unbanned.value());
    }
    SECTION("not while accounts are on another Redis")
    {
        if (GENERATE(true, false)) {
            a.link.reply(integer(0));
        } else {
            a.link.reply(integer(-1));
            a.link.reply(bulk("elsewhere 1"));
        }
        CHECK(a.unbanned.refusal() == Refusal::limits_elsewhere);
        CHECK(a.unbanned.failure().not_in_effect);
    }
    SECTION("not if that is lost or refused")
    {
        if (GENERATE(true, false)) {
            a.link.lose(redis::NoReply::not_sent);
        } else {
            a.link.reply("-NOPERM no\r\n");
        }
        CHECK(a.unbanned.failure().not_in_effect);
        CHECK(a.unbanned.refusal() == Refusal::none);
    }
    CHECK(a.unbanned.calls == 1);
}
