#include "catch.h"

#include <string>

#include "fake_link.h"
#include "key_world.h"
#include "store/accounts/account_administration.h"
#include "store/accounts/account_tasks.h"

using namespace petstore;
using store::Refusal;

namespace {

struct Accounts {
    void unban()
    {
        store::run(running, store::unban_account({link, link, schema}, "a1"),
                   unbanned);
    }

    FakeLink link;
    const store::Schema schema{"P"};
    store::Operations running;
    Result<bool> unbanned;
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
    store::run(a.running, store::redis_time(a.link), now);
    a.link.reply(time(1700000000));
    CHECK(now.value() == 1700000000);
}

TEST_CASE("an unban whose reply is lost may not be in effect", "[store]")
{
    Accounts a;
    a.unban();
    a.link.lose(redis::NoReply::in_doubt);
    CHECK(a.unbanned.failure().not_in_effect);
}

TEST_CASE("an account's ban ends, and workers read its keys again", "[store]")
{
    Accounts a;
    a.unban();
    REQUIRE(a.link.commands.size() == 1);
    CHECK(a.link.commands[0]
          == FakeLink::Words{"EVALSHA", store::scripts().unban.sha1, "3",
                             "P:{a1}:state", "P:{a1}:strikes", "P:{a1}:bans"});
    a.link.reply(integer(1));
    CHECK(a.link.commands.at(0)
          == FakeLink::Words{"EVALSHA", store::scripts().touch_account.sha1,
                             "1", "P:{a1}:state", "", "", "", ""});
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
              == FakeLink::Words{"EVALSHA", store::scripts().touch_account.sha1,
                                 "1", "P:{a1}:state", "", "1", "", ""});
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
