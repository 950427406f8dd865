#include "store/admin_claim.h"

#include "catch.h"

using petstore::store::AdminClaim;
using petstore::store::claim_text;
using petstore::store::parse_claim;

namespace {

AdminClaim pending()
{
    AdminClaim claim;
    claim.request = std::string(64, 'a');
    claim.attempt = "t1";
    claim.made = {"i1", "c1"};
    claim.earlier = {{"i2", "c2"}, {"i3", "c3"}};
    return claim;
}

}  // namespace

TEST_CASE("a claim is kept as text", "[store]")
{
    AdminClaim claim = pending();
    auto parsed = parse_claim(claim_text(claim));
    REQUIRE(parsed);
    CHECK(parsed->status == 0);
    CHECK(parsed->request == claim.request);
    CHECK(parsed->attempt == "t1");
    CHECK(parsed->made.id == "i1");
    CHECK(parsed->made.account == "c1");
    REQUIRE(parsed->earlier.size() == 2);
    CHECK(parsed->earlier[1].id == "i3");
    CHECK(parsed->earlier[1].account == "c3");

    claim.earlier.clear();
    parsed = parse_claim(claim_text(claim));
    REQUIRE(parsed);
    CHECK(parsed->earlier.empty());

    claim.status = 201;
    claim.location = "/keys/i1";
    claim.body = R"({"label":"with spaces"})";
    parsed = parse_claim(claim_text(claim));
    REQUIRE(parsed);
    CHECK(parsed->status == 201);
    CHECK(parsed->location == "/keys/i1");
    CHECK(parsed->body == claim.body);

    claim.status = 204;
    claim.location.clear();
    claim.body.clear();
    parsed = parse_claim(claim_text(claim));
    REQUIRE(parsed);
    CHECK(parsed->status == 204);
    CHECK(parsed->location.empty());
    CHECK(parsed->body.empty());
}

TEST_CASE("a claim that is damaged", "[store]")
{
    const std::string a(64, 'a');
    for (const std::string& text :
         {std::string(), std::string("x"), "2 " + a + " pending t i:c",
          std::string("1 abc pending t i:c"), "1 " + a + " pending t i",
          "1 " + a + " pending t i:c/d", "1 " + a + " pending t i:c i2",
          "1 " + a + " done 404 - {}", "1 " + a + " done x - {}",
          "1 " + a + " doing 201 - {}"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_claim(text));
    }
}
