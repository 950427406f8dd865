#include "catch.h"

#include <vector>

#include "ctl/upgrade/conversion.h"

using namespace petstore;

namespace {

constexpr api::UnixTime kNow = 1000;

api::KeyRecord key(const char* id, api::UnixTime created, const char* plan)
{
    api::KeyRecord record;
    record.id = id;
    record.account = "account";
    record.created = created;
    record.plan = plan;
    record.label = id;
    return record;
}

}  // namespace

TEST_CASE("an account gets plan and numbers of its newest usable key", "[ctl]")
{
    auto oldest = key("a", 100, "free");
    auto usable = key("b", 200, "pro");
    usable.per_minute = 5;
    auto disabled = key("c", 300, "business");
    disabled.disabled = true;
    auto expired = key("d", 400, "business");
    expired.expires = kNow;

    const auto account =
        ctl::account_of({&expired, &usable, &disabled, &oldest}, kNow);
    CHECK(account.id == "account");
    CHECK(account.plan == "pro");
    CHECK(account.per_minute == 5);
    CHECK_FALSE(account.per_day);
    CHECK(account.label == "b");
    CHECK(account.created == 100);
    CHECK(account.implicit);
    CHECK_FALSE(account.disabled);
    CHECK(account.external_id.empty());

    CHECK(ctl::account_of({&disabled, &expired}, kNow).label == "d");
    CHECK(ctl::account_of({&disabled}, kNow).plan == "business");
}

TEST_CASE("only keys with the account's plan and numbers follow it", "[ctl]")
{
    const api::OwnPlan account{"pro", 5, {}, {}};
    CHECK(ctl::follows({"pro", 5, {}, {}}, account));
    CHECK_FALSE(ctl::follows({"free", 5, {}, {}}, account));
    CHECK_FALSE(ctl::follows({"pro", {}, {}, {}}, account));
    CHECK_FALSE(ctl::follows({"pro", 5, 7, {}}, account));
    CHECK_FALSE(ctl::follows({"pro", 5, {}, 7}, account));
    CHECK_FALSE(ctl::follows({"", {}, {}, {}}, account));
}

TEST_CASE("a key of format 1 without a plan has the plan free", "[ctl]")
{
    auto none = key("a", 1, "");
    ctl::name_plan(none);
    CHECK(none.plan == "free");
    auto pro = key("a", 1, "pro");
    ctl::name_plan(pro);
    CHECK(pro.plan == "pro");
}
