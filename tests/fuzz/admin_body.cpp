// Bodies of the admin API, compared with another parser: accepted bodies are
// JSON objects, and what they set is valid and shown as JSON.
#include <nlohmann/json.hpp>
#include <string>

#include "api/admin_body.h"
#include "api/administration_json.h"
#include "api/text.h"
#include "fuzz.h"
#include "store/plans/plan_commands.h"

using namespace petstore;
using nlohmann::json;

namespace {

constexpr api::Operation kOperations[] = {
    api::Operation::create_account, api::Operation::update_account,
    api::Operation::create_key,     api::Operation::update_key,
    api::Operation::rotate_key,     api::Operation::put_plan,
    api::Operation::unban_account};

void check(const api::AdminBody& body)
{
    api::AccountRecord account;
    account.id = "an-account";
    body.apply(account);
    REQUIRE(account.label.empty()
            || api::label_problem(account.label) == nullptr);
    const auto shown = json::parse(api::account_json(account, std::nullopt));
    REQUIRE(shown["label"].is_null() == account.label.empty());
    REQUIRE(shown["disabled"] == account.disabled);

    api::KeyRecord key;
    key.id = "a-key";
    key.account = account.id;
    if (!body.apply(key, 1'700'000'000)) {
        REQUIRE(!key.expires || api::has_four_digit_year(*key.expires));
        for (const std::string_view scope : api::scope_names(key)) {
            REQUIRE(api::is_scope(scope));
        }
        const auto text =
            api::key_json(key, account, api::PlanTable(), "usable", "secret");
        REQUIRE(json::parse(text)["key"] == "secret");
        REQUIRE(text.find('\n') == text.npos);
    }
    REQUIRE(body.grace_seconds >= 0 && body.grace_seconds <= api::kMaxGrace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    if (size == 0) {
        return 0;
    }
    const auto operation = kOperations[data[0] % std::size(kOperations)];
    const auto text = fuzz::text_of(data + 1, size - 1);
    const auto result = api::parse_admin_body(operation, text);
    if (const auto* error = std::get_if<api::Error>(&result)) {
        REQUIRE(api::is_utf8(error->message.text()));
        return 0;
    }
    const bool may_be_missing = operation == api::Operation::rotate_key
                                || operation == api::Operation::unban_account;
    if (!text.empty() || !may_be_missing) {
        try {
            REQUIRE(json::parse(text).is_object());
        } catch (const json::out_of_range&) {  // a number that exceeds double
        }
    }
    const auto& body = std::get<api::AdminBody>(result);
    if (operation == api::Operation::put_plan) {
        const api::Limits limits = body.limits();
        REQUIRE(limits.minute >= 1 && limits.day >= 1 && limits.month >= 0);
        const std::string written = store::limits_text(limits);
        REQUIRE(store::parse_limits(written) == limits);
    }
    check(body);
    return 0;
}
