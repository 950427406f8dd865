#include "api/admin_body.h"

#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

AdminBody valid(Operation operation, std::string_view text)
{
    auto parsed = parse_admin_body(operation, text);
    if (const auto* error = std::get_if<Error>(&parsed)) {
        FAIL(error->message.text());
    }
    return std::get<AdminBody>(std::move(parsed));
}

// "code: message"
std::string refusal(Operation operation, std::string_view text)
{
    const auto parsed = parse_admin_body(operation, text);
    const auto* error = std::get_if<Error>(&parsed);
    return error == nullptr ? "none"
                            : std::string(code_name(error->code)) + ": "
                                  + std::string(error->message.text());
}

bool begins(const std::string& text, const std::string& start)
{
    return text.compare(0, start.size(), start) == 0;
}

}  // namespace

TEST_CASE("a body sets what it has, null removes, and the rest stays", "[api]")
{
    AccountRecord account;
    account.external_id = "old";
    account.label = "Acme";
    account.plan = "pro";
    account.per_day = 7;
    account.disabled = true;
    valid(Operation::update_account,
          R"({"external_id":"new","plan":null,"per_minute":5,"per_day":null})")
        .apply(account);
    CHECK(account.external_id == "new");
    CHECK(account.label == "Acme");
    CHECK(account.plan.empty());
    CHECK(account.per_minute == 5);
    CHECK_FALSE(account.per_day);
    CHECK(account.disabled);
    valid(Operation::update_account,
          R"({"disabled":null,"external_id":null,"label":"B"})")
        .apply(account);
    CHECK_FALSE(account.disabled);
    CHECK(account.external_id.empty());
    CHECK(account.label == "B");
    valid(Operation::update_account, "{}").apply(account);
    CHECK(account.label == "B");
    valid(Operation::update_account, R"({"label":""})").apply(account);
    CHECK(account.label.empty());
}

TEST_CASE("the body of a key has scopes and an end", "[api]")
{
    KeyRecord key;
    const AdminBody body = valid(
        Operation::create_key,
        R"({"scopes":["read","admin"],"expires":"30d","account":"a1","disabled":true})");
    CHECK_FALSE(body.apply(key, 1000));
    CHECK(scopes_text(key) == "read,admin");
    CHECK(key.expires == 1000 + 30 * 86400 + 1);
    CHECK(key.disabled);
    CHECK(body.account == "a1");

    CHECK_FALSE(
        valid(Operation::update_key, R"({"scopes":null,"expires":null})")
            .apply(key, 1000));
    CHECK(scopes_text(key) == "read,write");
    CHECK_FALSE(key.expires);
    const auto error =
        valid(Operation::update_key, R"({"expires":"soon"})").apply(key, 1000);
    REQUIRE(error);
    CHECK(error->code == ErrorCode::invalid_field);
    CHECK(error->message.text().substr(0, 8) == "expires ");
}

TEST_CASE("a plan needs its numbers", "[api]")
{
    const Limits limits = valid(Operation::put_plan,
                                R"({"per_minute":1,"per_day":2,"per_month":3})")
                              .limits();
    CHECK(limits == Limits{1, 2, 3});
    CHECK(valid(Operation::put_plan,
                R"({"per_minute":1,"per_day":2,"per_month":null})")
              .limits()
          == Limits{1, 2, 0});
    CHECK(refusal(Operation::put_plan, R"({"per_minute":1})")
          == "missing_field: per_day is required.");
    CHECK(refusal(Operation::put_plan, R"({"per_minute":null,"per_day":1})")
          == "invalid_field: per_minute must not be null.");
}

TEST_CASE("only actions and rotations need no body", "[api]")
{
    for (const Operation operation :
         {Operation::unban_account, Operation::reset_account,
          Operation::rotate_key}) {
        CHECK(has_admin_body(operation));
        CHECK(refusal(operation, "") == "none");
        CHECK(refusal(operation, "{}") == "none");
        CHECK(begins(refusal(operation, R"({"label":"x"})"), "invalid_field"));
    }
    for (const Operation operation :
         {Operation::create_account, Operation::update_account,
          Operation::create_key, Operation::update_key, Operation::put_plan}) {
        CHECK(begins(refusal(operation, ""), "missing_body"));
        CHECK(begins(refusal(operation, " \n"), "missing_body"));
        CHECK(begins(refusal(operation, "[]"), "invalid_json"));
        CHECK(begins(refusal(operation, R"({"label":"a","label":"b"})"),
                     "invalid_json"));
        CHECK(
            begins(refusal(operation, "{\"label\":\"\xff\"}"), "invalid_json"));
    }
    CHECK_FALSE(has_admin_body(Operation::delete_key));
    CHECK(valid(Operation::rotate_key, R"({"grace":"24h"})").grace_seconds
          == 86400);
    CHECK(valid(Operation::rotate_key, R"({"grace":null})").grace_seconds == 0);
}

TEST_CASE("members that cannot be set, and others", "[api]")
{
    for (const char* name : {"id", "created", "last_used"}) {
        const std::string body = std::string("{\"") + name + "\":\"x\"}";
        CHECK(refusal(Operation::update_account, body)
              == std::string("read_only_field: ") + name + " cannot be set.");
        CHECK(begins(refusal(Operation::create_account, body),
                     "read_only_field"));
    }
    for (const char* name : {"id", "created", "overrides", "state", "last4",
                             "key", "account", "external_id"}) {
        const std::string body = std::string("{\"") + name + "\":\"x\"}";
        CHECK(begins(refusal(Operation::update_key, body), "read_only_field"));
    }
    for (const char* name : {"name", "source"}) {
        const std::string body = std::string("{\"") + name + "\":\"x\"}";
        CHECK(begins(refusal(Operation::put_plan, body), "read_only_field"));
    }
    const std::string unknown =
        "invalid_field: The body has a member that this operation does not know.";
    CHECK(refusal(Operation::update_key, R"({"sha256":"x"})") == unknown);
    CHECK(refusal(Operation::update_key, R"({"petstore_secret":1})")
          == unknown);
    CHECK(refusal(Operation::update_account, R"({"scopes":[]})") == unknown);
    CHECK(refusal(Operation::put_plan, R"({"label":"x"})") == unknown);
}

TEST_CASE("values that a field cannot have", "[api]")
{
    const struct {
        const char* name;
        std::vector<const char*> values;
    } kRows[] = {
        {"label", {"1", "\"a\\n\"", "\" \"", "\"\\u202e\"", "[]", "{}"}},
        {"plan", {"\"\"", "\"Pro\"", "\"a b\"", "true"}},
        {"per_minute",
         {"0", "-1", "1.0", "1e3", "\"1\"", "1000000000001", "-0",
          "99999999999999999999", "true"}},
        {"disabled", {"0", "\"true\"", "[]"}},
        {"external_id", {"\"\"", "\"a b\"", "\"\\u00e9\"", "1"}},
        {"account", {"\"\"", "\"a b\"", "\"../x\"", "1"}},
        {"scopes",
         {"\"read\"", "[]", "[1]", "[\"a\",null]", "[\"A\"]", "[\"a,b\"]",
          "[[\"a\"]]", "{}", "[\"a\",{}]"}},
        {"expires", {"\"\"", "1", "true"}},
        {"sha256", {"\"abc\"", "1", "\"\""}},
    };
    for (const auto& [name, values] : kRows) {
        for (const char* value : values) {
            const std::string body =
                std::string("{\"") + name + "\":" + value + "}";
            CAPTURE(body);
            CHECK(begins(refusal(Operation::create_key, body),
                         std::string("invalid_field: ") + name + " must"));
        }
    }
    for (const char* value :
         {"\"\"", "\"-1s\"", "\"1y\"", "\"3651d\"", "86400"}) {
        CAPTURE(value);
        CHECK(begins(refusal(Operation::rotate_key,
                             std::string("{\"grace\":") + value + "}"),
                     "invalid_field: grace must"));
    }
    std::string many = "{\"scopes\":[";
    for (int i = 0; i < 17; ++i) {
        many += (i == 0 ? "\"s" : ",\"s") + std::to_string(i) + '"';
    }
    CHECK(begins(refusal(Operation::create_key, many + "]}"), "invalid_field"));
    CHECK(
        refusal(Operation::create_key, R"({"account":"a1","external_id":"c"})")
        == "invalid_field: external_id must not be given together with account.");
    CHECK(
        refusal(Operation::create_key, R"({"account":null,"external_id":"c"})")
        == "none");
}
