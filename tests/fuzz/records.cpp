// Records of accounts, keys and plans, usage, and claims of the admin API, as
// anybody may have written them to Redis. What is accepted is shown as JSON of
// one line; accounts, plans and claims are the same after being written and
// read again.
#include <nlohmann/json.hpp>

#include "api/administration_json.h"
#include "api/usage.h"
#include "replies.h"
#include "store/accounts/account_commands.h"
#include "store/accounts/account_state.h"
#include "store/accounts/usage_commands.h"
#include "store/admin_claim.h"
#include "store/keys/key_commands.h"
#include "store/plans/plan_commands.h"

using namespace petstore;

namespace {

constexpr api::Day kFrom = 20'000;
constexpr api::Day kTo = 20'100;

const store::Schema& schema()
{
    static const store::Schema schema("petstore");
    return schema;
}

void check_json(const std::string& text)
{
    REQUIRE(nlohmann::json::accept(text));
    for (const char c : text) {
        REQUIRE(static_cast<unsigned char>(c) >= ' ');
    }
}

void check_claim(std::string_view text)
{
    const auto claim = store::parse_claim(text);
    if (!claim) {
        return;
    }
    const std::string written = store::claim_text(*claim);
    const auto again = store::parse_claim(written);
    REQUIRE(again && store::claim_text(*again) == written);
    REQUIRE(again->status == claim->status);
    REQUIRE(again->made.id == claim->made.id);
    REQUIRE(again->earlier.size() == claim->earlier.size());
    REQUIRE(again->location == claim->location);
    REQUIRE(again->body == claim->body);
}

void check_limits(std::string_view text)
{
    const auto limits = store::parse_limits(text);
    if (!limits) {
        return;
    }
    for (const std::int64_t limit : {limits->minute, limits->day}) {
        REQUIRE(limit >= 1 && limit <= api::kMaxLimit);
    }
    REQUIRE(limits->month >= 0 && limits->month <= api::kMaxLimit);
    REQUIRE(store::parse_limits(store::limits_text(*limits)) == limits);
    check_json(api::plan_json("pro", *limits, "redis"));
}

// The reply to HGETALL after write_record.lua has executed the command.
std::string written(const redis::Command& command)
{
    // EVALSHA, the digest, the number of keys, the key and two arguments.
    constexpr std::size_t kBeforeFields = 6;
    const auto argv = command.argv();
    std::size_t count = 0;
    std::string items;
    for (std::size_t i = kBeforeFields; i + 1 < argv.size(); i += 2) {
        if (argv[i + 1].empty()) {
            continue;
        }
        count += 2;
        for (const std::string_view text : {argv[i], argv[i + 1]}) {
            items.append("$").append(std::to_string(text.size()));
            items.append("\r\n").append(text).append("\r\n");
        }
    }
    return "*" + std::to_string(count) + "\r\n" + items;
}

void check_account(const api::AccountRecord& account)
{
    static const store::AccountCommands accounts(schema());
    const std::string reply = written(accounts.write(account, account.epoch));
    std::size_t replies = 0;
    fuzz::for_each_reply(reply, reply.size(), [&](const redis::Reply& again) {
        const auto found = store::AccountCommands::parse(again, account.id);
        REQUIRE(found.result == store::RecordFound::found);
        REQUIRE(api::account_json(found.record, std::nullopt)
                == api::account_json(account, std::nullopt));
        REQUIRE(found.record.implicit == account.implicit);
        REQUIRE(found.record.deleted == account.deleted);
        ++replies;
    });
    REQUIRE(replies == 1);
}

void check_plans(const redis::Reply& reply)
{
    const auto stored = store::PlanCommands::parse(reply);
    REQUIRE(stored.plans.size() <= store::PlanCommands::kMaxPlans);
    for (const auto& [name, limits] : stored.plans) {
        REQUIRE(api::is_plan_name(name));
        REQUIRE(store::parse_limits(store::limits_text(limits)) == limits);
    }
}

void check_counter(const api::AccountUsage::Counter& counter)
{
    REQUIRE(counter.used >= 0 && counter.used <= store::AccountState::kLargest);
    REQUIRE(counter.reset >= 0);
}

void check_usage(const api::AccountUsage& usage)
{
    for (const auto& counter : {usage.minute, usage.day, usage.month}) {
        check_counter(counter);
    }
    REQUIRE(usage.strikes >= 0 && usage.bans >= 0);
    for (const auto& day : usage.days) {
        for (const std::int64_t count : {day.admitted, day.denied}) {
            REQUIRE(count >= 0 && count <= store::AccountState::kLargest);
        }
    }
    const api::Limits limits{60, 1000, 5000};
    for (const auto& each : api::usage_windows(usage, limits)) {
        static_cast<void>(api::reaches(each.window, 100));
    }
    for (const auto step :
         {api::UsagePeriod::Step::day, api::UsagePeriod::Step::month}) {
        check_json(api::usage_json(usage, {}, {kFrom, kTo, step}));
    }
    check_json(api::own_usage_json(usage, "pro", limits));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    static const store::UsageCommands usage(schema());
    const auto stream = fuzz::text_of(data, size);
    check_claim(stream);
    check_limits(stream);
    api::AccountRecord known;  // the last account in the stream
    fuzz::for_each_reply(stream, size, [&](const redis::Reply& reply) {
        const auto account = store::AccountCommands::parse(reply, "an-account");
        check_json(api::account_json(account.record, std::nullopt));
        if (account.result == store::RecordFound::found) {
            known = account.record;
            check_account(known);
        }
        store::StoredKey key;
        store::KeyCommands::parse(reply, key);
        check_json(api::key_json(key.record, account.record, {}, "usable"));
        check_json(api::key_json(key.record, known, {}, "usable"));
        check_plans(reply);
        api::AccountUsage counts;
        counts.account = known;
        if (usage.parse(reply, "an-account", kFrom, kTo, counts).empty()) {
            check_usage(counts);
        }
    });
    return 0;
}
