// Records of accounts, keys and plans, usage, and claims of the admin API, as
// anybody may have written them to Redis. What is accepted is shown as JSON of
// one line.
#include <nlohmann/json.hpp>

#include "api/administration_json.h"
#include "replies.h"
#include "store/accounts/account_commands.h"
#include "store/accounts/usage_commands.h"
#include "store/admin_claim.h"
#include "store/keys/key_commands.h"
#include "store/plans/plan_commands.h"

using namespace petstore;

namespace {

void check_json(const std::string& text)
{
    REQUIRE(nlohmann::json::accept(text));
    for (const char c : text) {
        REQUIRE(static_cast<unsigned char>(c) >= ' ');
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    static const store::Schema schema("petstore");
    static const store::AccountCommands accounts(schema);
    static const store::UsageCommands usage(schema);
    const auto stream = fuzz::text_of(data, size);
    static_cast<void>(store::parse_claim(stream));
    const auto limits = store::parse_limits(stream);
    REQUIRE(!limits || (limits->minute > 0 && limits->day > 0));
    fuzz::for_each_reply(stream, size, [&](const redis::Reply& reply) {
        const auto account = accounts.parse(reply, "an-account");
        check_json(api::account_json(account.record, std::nullopt));
        const auto key = store::KeyCommands::parse(reply);
        check_json(api::key_json(key.record, account.record, {}, "usable"));
        static_cast<void>(store::PlanCommands::parse(reply));
        constexpr api::Day kFrom = 20'000;
        constexpr api::Day kTo = 20'100;
        api::AccountUsage counts;
        counts.account = account.record;
        if (usage.parse(reply, "an-account", kFrom, kTo, counts).empty()) {
            for (const auto& day : counts.days) {
                REQUIRE(day.admitted >= 0 && day.denied >= 0);
            }
            check_json(api::usage_json(
                counts, {}, {kFrom, kTo, api::UsagePeriod::Step::day}));
        }
    });
    return 0;
}
