#include "api/admin_query.h"

#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

AdminQuery valid(Operation operation, std::string_view text)
{
    auto parsed = parse_admin_query(operation, text);
    if (const auto* error = std::get_if<Error>(&parsed)) {
        FAIL(error->message.text());
    }
    return std::get<AdminQuery>(std::move(parsed));
}

std::string refusal(Operation operation, std::string_view text)
{
    const auto parsed = parse_admin_query(operation, text);
    const auto* error = std::get_if<Error>(&parsed);
    return error == nullptr ? "" : std::string(error->message.text());
}

// The query of rel="next".
std::string next_of(std::string links)
{
    links = links.substr(links.find('?') + 1);
    return links.substr(0, links.find('>'));
}

}  // namespace

TEST_CASE("lists of the admin API have filters", "[api]")
{
    const auto accounts = valid(Operation::list_accounts,
                                "external_id=a%2Bb&plan=pro&limit=7&other=1");
    CHECK(accounts.external_id == "a+b");
    CHECK(accounts.plan == "pro");
    CHECK(accounts.limit == 7);
    CHECK(valid(Operation::list_keys, "account=a1").account == "a1");
    CHECK(valid(Operation::list_keys, "").limit == 20);
    const auto usage =
        valid(Operation::list_usage, "from=2026-11-01&to=2026-11-25&by=month");
    CHECK(usage.from == 20758);
    CHECK(usage.to == 20782);
    CHECK(usage.step == UsagePeriod::Step::month);
}

TEST_CASE("parameters of the admin API that are refused", "[api]")
{
    CHECK(refusal(Operation::list_accounts, "limit=0")
          == "limit must be an integer from 1 to 100.");
    CHECK(refusal(Operation::list_accounts, "plan=a&plan=b")
          == "plan must not be given twice.");
    CHECK(refusal(Operation::list_accounts, "plan=")
          == "plan must not be empty.");
    for (const auto& id :
         {std::string("a+b"), std::string("%C3%A9"), std::string(129, 'a')}) {
        CHECK(
            refusal(Operation::list_accounts, "external_id=" + id)
            == "external_id must be 1 to 128 visible ASCII characters, with + encoded as %2B.");
    }
    CHECK(refusal(Operation::list_keys, "sha256=xyz")
          == "sha256 must be 64 hexadecimal digits.");
    CHECK(refusal(Operation::list_usage, "by=week")
          == "by must be day or month.");
    for (const char* day :
         {"2026-11-31", "2026-11", "30d", "", "2026-11-25T00:00:00Z"}) {
        CHECK(refusal(Operation::get_account_usage, std::string("from=") + day)
              == "from must be a date such as 2026-11-25.");
    }
    CHECK(refusal(Operation::list_usage, "from=2026-11-25&to=2026-11-24")
          == "from must not be after to.");
    // Not a parameter of these.
    CHECK(refusal(Operation::get_account_usage, "limit=0").empty());
    CHECK(refusal(Operation::create_key, "limit=0").empty());
}

TEST_CASE("the period of a report is this month by default", "[api]")
{
    constexpr Day kToday = 20782;  // 2026-11-25
    const auto period = [](std::string_view query) {
        return usage_period(valid(Operation::list_usage, query), kToday);
    };
    CHECK(period("").from == 20758);
    CHECK(period("").to == kToday);
    CHECK(period("to=2026-10-15").from == 20727);
    CHECK(period("to=2026-10-15").to == 20741);
    CHECK(period("from=2026-11-24").from == 20781);
    CHECK(period("to=2030-01-01&from=2026-11-24").to == kToday);
    CHECK(period("to=2026-12-31").from == 20758);
    CHECK(period("to=2026-12-31").to == kToday);
    // By a client whose clock is ahead.
    CHECK(period("from=2026-11-26").from == kToday + 1);
    CHECK(period("from=2026-11-26").to == kToday);
}

TEST_CASE("a cursor continues the same list", "[api]")
{
    const AdminQuery query =
        valid(Operation::list_accounts, "plan=pro&limit=5");
    const ScanPlace place{0xFEDCBA9876543210, 0x123456789ABCDEF0, "a1_-Z"};
    const std::string links = admin_links(
        "/admin/v1/accounts", Operation::list_accounts, query, place);
    const std::string next = next_of(links);
    CHECK(
        links
        == "</admin/v1/accounts?" + next
               + ">; rel=\"next\", </admin/v1/accounts?limit=5&plan=pro>; rel=\"first\"");
    const AdminQuery continued = valid(Operation::list_accounts, next);
    CHECK(continued.place.cursor == place.cursor);
    CHECK(continued.place.end == place.end);
    CHECK(continued.place.after == place.after);
    CHECK(continued.plan == "pro");
    CHECK(continued.limit == 5);

    const std::string cursor = next.substr(next.find("&cursor=") + 1);
    // Another limit is honoured, another filter or operation refused.
    CHECK(valid(Operation::list_accounts, "limit=9&plan=pro&" + cursor)
              .place.after
          == "a1_-Z");
    for (const std::string& other :
         {"plan=free&" + cursor, cursor, "plan=pro&external_id=x&" + cursor,
          "plan=pro&" + cursor + "A", std::string("plan=pro&cursor=")}) {
        CAPTURE(other);
        CHECK(
            refusal(Operation::list_accounts, other)
            == "cursor must be one from a Link header, with the same other parameters.");
    }
    CHECK_FALSE(refusal(Operation::list_usage, cursor).empty());
}

TEST_CASE("a cursor of usage has the period of the first page", "[api]")
{
    constexpr Day kToday = 20787;
    AdminQuery query = valid(Operation::list_usage, "limit=5");
    query.first_page = {20758, 20782};
    const auto links = [&] {
        return admin_links("/usage", Operation::list_usage, query,
                           {7, 9, "a1"});
    };
    const std::string next = next_of(links());
    CHECK(next.find("from=") == std::string::npos);
    const AdminQuery continued = valid(Operation::list_usage, next);
    CHECK(continued.place.after == "a1");
    CHECK(continued.place.cursor == 7);
    CHECK(continued.place.end == 9);
    REQUIRE(continued.first_page);
    const auto period = usage_period(continued, kToday);
    CHECK(period.from == 20758);
    CHECK(period.to == 20782);
    // That of an earlier version has none.
    query.first_page.reset();
    CHECK_FALSE(valid(Operation::list_usage, next_of(links())).first_page);
    // Nor may it have any.
    query.first_page = {kLastDay + 1, 0};
    CHECK_FALSE(refusal(Operation::list_usage, next_of(links())).empty());
    query.first_page = {0, kLastDay + 1};
    CHECK_FALSE(refusal(Operation::list_usage, next_of(links())).empty());
}
