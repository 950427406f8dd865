#include "api/administration_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.h"

using namespace petstore::api;

namespace {

using Json = nlohmann::ordered_json;

// The members in their order, as docs/petstorectl.md lists them.
std::vector<std::string> members(const Json& object)
{
    std::vector<std::string> names;
    for (const auto& item : object.items()) {
        names.push_back(item.key());
    }
    return names;
}

using Names = std::vector<std::string>;

AccountRecord account()
{
    AccountRecord account;
    account.id = "a1";
    account.external_id = "cust_1";
    account.label = "Acme";
    account.plan = "pro";
    account.per_month = 900;
    account.created = 1922659200;
    return account;
}

KeyRecord key()
{
    KeyRecord key;
    key.id = "k1";
    key.account = "a1";
    key.label = "ci";
    key.created = 1922659200;
    key.expires = 1922659201;
    key.last4 = "wxyz";
    return key;
}

}  // namespace

TEST_CASE("an account as JSON", "[json]")
{
    const std::string text = account_json(account(), 20782);
    const Json full = Json::parse(text);
    CHECK(members(full)
          == Names{"id", "external_id", "label", "plan", "per_minute",
                   "per_day", "per_month", "disabled", "created", "last_used"});
    CHECK(text
          == R"({"id":"a1","external_id":"cust_1","label":"Acme",)"
             R"("plan":"pro","per_minute":null,"per_day":null,)"
             R"("per_month":900,"disabled":false,)"
             R"("created":"2030-12-05T00:00:00Z","last_used":"2026-11-25"})");
    const Json bare = Json::parse(account_json({}, std::nullopt));
    CHECK(bare.at("external_id").is_null());
    CHECK(bare.at("label").is_null());
    CHECK(bare.at("plan") == "free");
    CHECK(bare.at("last_used").is_null());

    AccountRecord hostile;
    hostile.label = "\xff\x1b\"";
    CHECK(account_json(hostile, std::nullopt).find(R"(\u001b\")")
          != std::string::npos);
}

TEST_CASE("a key as JSON", "[json]")
{
    const PlanTable plans;
    CHECK(key_json(key(), account(), plans, "usable")
          == R"({"id":"k1","account":"a1","external_id":"cust_1",)"
             R"("plan":"pro","per_minute":null,"per_day":null,)"
             R"("per_month":900,"overrides":false,"label":"ci",)"
             R"("scopes":["read","write"],)"
             R"("created":"2030-12-05T00:00:00Z",)"
             R"("expires":"2030-12-05T00:00:01Z","disabled":false,)"
             R"("state":"usable","last4":"wxyz"})");
    auto own = key();
    own.plan = "business";
    own.per_day = 5;
    own.label = own.last4 = "";
    own.expires.reset();
    const Json json = Json::parse(key_json(own, account(), plans, "expired"));
    CHECK(json.at("plan") == "business");
    CHECK(json.at("per_day") == 5);
    CHECK(json.at("per_month").is_null());
    CHECK(json.at("overrides") == true);
    for (const char* absent : {"label", "last4", "expires"}) {
        CHECK(json.at(absent).is_null());
    }
}

TEST_CASE("the state of a key", "[json]")
{
    auto record = key();
    auto owner = account();
    const UnixTime before = 1922659200;
    CHECK(key_state(record, false, owner, before) == "usable");
    CHECK(key_state(record, false, owner, before + 1) == "expired");
    owner.disabled = true;
    CHECK(key_state(record, false, owner, before + 1) == "disabled");
    owner.disabled = false;
    record.disabled = true;
    CHECK(key_state(record, false, owner, before) == "disabled");
    CHECK(key_state(record, true, owner, before) == "unfinished");
}

TEST_CASE("usage as JSON", "[json]")
{
    AccountUsage usage;
    usage.account = account();
    usage.account.created = Day{20781} * kDaySeconds;
    usage.now = (Day{20782} * kDaySeconds + 60) * 1000;
    usage.minute = {7, usage.now + 1500};
    usage.month = {450, (Day{20788} * kDaySeconds) * 1000};
    usage.days = {{20782, 30, 2}};
    usage.last_used = 20782;
    CHECK(usage_json(usage, PlanTable(), {20780, 20782})
          == R"({"account":"a1","external_id":"cust_1","label":"Acme",)"
             R"("plan":"pro","windows":[)"
             R"({"window":"minute","limit":300,"used":7,"remaining":293,)"
             R"("reset":1795564862},)"
             R"({"window":"day","limit":10000,"used":0,"remaining":10000,)"
             R"("reset":1795651260},)"
             R"({"window":"month","limit":900,"used":450,"remaining":450,)"
             R"("reset":1796083200}],"last_used":"2026-11-25","days":[)"
             R"({"date":"2026-11-24","admitted":0,"denied":0},)"
             R"({"date":"2026-11-25","admitted":30,"denied":2}]})");
    const Json months = Json::parse(usage_json(
        usage, PlanTable(), {20780, 20782, UsagePeriod::Step::month}));
    CHECK(members(months).back() == "months");
    CHECK(months.at("months").dump()
          == R"([{"month":"2026-11","admitted":30,"denied":2}])");
}
