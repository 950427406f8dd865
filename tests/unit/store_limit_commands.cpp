#include "catch.h"

#include <climits>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "store/accounts/limit_commands.h"
#include "store/scripts.h"
#include "store_replies.h"

using namespace petstore;
using api::Verdict;
using store::AccountStatus;
using store::LimitCommands;
using store::LimitRequest;
using store::LimitResult;
using Catalogue = store::LimitCommands::Catalogue;
using Kind = store::LimitResult::Kind;
using Words = std::vector<std::string>;

namespace {

const store::Schema kSchema("petstore");
const LimitCommands kLimiter(kSchema);
const LimitCommands kLimiterElsewhere(kSchema, Catalogue::elsewhere);
const api::Limits kLimits{60, 1000};
constexpr std::int64_t kEpoch = 1795254442316000;
constexpr double kNoLimit = 9007199254740992.0;  // of a month

LimitRequest request_of(std::string_view account, std::int64_t requests)
{
    LimitRequest request;
    request.account = account;
    request.epoch = kEpoch;
    request.limits = kLimits;
    request.requests = requests;
    return request;
}

std::string state(std::int64_t minute, std::int64_t day, std::int64_t ban = 0,
                  std::int64_t epoch = kEpoch)
{
    return bulk(
        encode_state({epoch, 0, minute, 61000, day, 86401000, day, ban}));
}

std::string windows(std::int64_t minute, std::int64_t day)
{
    return encode_numbers({minute, 61000, day, 86401000, day});
}

std::string reply(const std::vector<std::string>& accounts)
{
    return limit_reply(accounts, stamp(5000, "17", "5"));
}

std::vector<LimitResult> results_of(const std::string& resp,
                                    const std::vector<std::int64_t>& counts,
                                    const LimitCommands& limiter = kLimiter)
{
    Replies replies;
    std::vector<LimitRequest> requests;
    for (const auto count : counts) {
        requests.push_back(request_of("acc", count));
    }
    return limiter.parse_decisions(replies(resp), requests);
}

LimitResult result_of(const std::string& resp, std::int64_t requests = 1,
                      const LimitCommands& limiter = kLimiter)
{
    const auto results = results_of(resp, {requests}, limiter);
    REQUIRE(results.size() == 1);
    return results.front();
}

AccountStatus status_of(const std::string& resp)
{
    Replies replies;
    return LimitCommands::parse_status(replies(resp), kLimits, 1);
}

AccountStatus status_after(long long denials, long long new_ban,
                           const std::string& state)
{
    return status_of(
        array({integer(denials), integer(new_ban), integer(5000), state}));
}

// A reply that neither script sends.
std::string foreign_reply()
{
    return GENERATE(as<std::string>{}, "$-1\r\n", "$0\r\n\r\n", "$1\r\nx\r\n",
                    "+1\r\n", "+OK\r\n", ":1\r\n", "-ERR x\r\n", "*0\r\n",
                    "*-1\r\n", "*1\r\n:1\r\n", "*2\r\n$1\r\n1\r\n:1\r\n",
                    "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
                    "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
                    "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n$2\r\nxy\r\n",
                    "*7\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
}

// A part of the packed argument as decoded by the script's struct.unpack.
template <typename Number>
std::vector<Number> unpack(const std::string& packed)
{
    constexpr std::size_t kSize = sizeof(Number);
    REQUIRE(packed.size() % kSize == 0);
    std::vector<Number> numbers;
    for (std::size_t i = 0; i < packed.size(); i += kSize) {
        std::conditional_t<kSize == 8, std::uint64_t, std::uint32_t> bits = 0;
        for (std::size_t byte = kSize; byte-- > 0;) {
            bits = bits << 8 | static_cast<unsigned char>(packed[i + byte]);
        }
        Number number;
        std::memcpy(&number, &bits, sizeof(number));
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace

TEST_CASE("one command decides on requests of several accounts", "[store]")
{
    const redis::Script& script = store::scripts().limit;
    auto fresh = request_of("b", 12);
    fresh.fresh = true;
    auto command = kLimiter.decide({request_of("a", 1), fresh});
    CHECK(command.routing_key() == "petstore:{a}:state");
    CHECK(
        words(command)
        == Words{"EVALSHA", script.sha1, "4", "petstore:{a}:state",
                 "petstore:{b}:state", "petstore:{petstore:pets}:count",
                 "petstore:{petstore:pets}:changes",
                 asked({{kEpoch, 60, 1000, 1, 0}, {kEpoch, 60, 1000, 12, 1}})});
    command.use_script_text();
    CHECK(words(command)[0] == "EVAL");
    CHECK(words(command)[1] == script.text);
}

TEST_CASE("the limiter on another Redis than the catalogue names accounts only",
          "[store]")
{
    const auto command =
        kLimiterElsewhere.decide({request_of("a", 1), request_of("b", 2)});
    CHECK(command.routing_key() == "petstore:{a}:state");
    CHECK(
        words(command)
        == Words{"EVALSHA", store::scripts().limit.sha1, "2",
                 "petstore:{a}:state", "petstore:{b}:state",
                 asked({{kEpoch, 60, 1000, 1, 0}, {kEpoch, 60, 1000, 2, 0}})});
}

TEST_CASE("the version comes along if a request of the command needs it",
          "[store]")
{
    const std::string resp =
        bulk(windows(1, 1) + windows(1, 1) + stamp(5000, "17", "5"));
    auto one = request_of("a", 1);
    auto other = request_of("b", 1);
    one.needs_version = other.needs_version = false;
    Replies replies;
    const redis::Reply& reply = replies(resp);
    CHECK(
        words(kLimiter.decide({one, other}))
        == Words{"EVALSHA", store::scripts().limit.sha1, "2",
                 "petstore:{a}:state", "petstore:{b}:state",
                 asked({{kEpoch, 60, 1000, 1, 0}, {kEpoch, 60, 1000, 1, 0}})});
    for (const auto& result : kLimiter.parse_decisions(reply, {one, other})) {
        CHECK(result.kind == Kind::decided);
        CHECK_FALSE(result.version);
    }

    other.needs_version = true;
    CHECK(words(kLimiter.decide({one, other}))[2] == "4");
    for (const auto& result : kLimiter.parse_decisions(reply, {one, other})) {
        REQUIRE(result.version);
        CHECK(result.version->count == 17);
    }
}

TEST_CASE("a command is across slots if it asks about accounts of a Cluster",
          "[store]")
{
    const LimitCommands cluster(kSchema, Catalogue::elsewhere,
                                LimitCommands::Accounts::cluster);
    const auto one = request_of("a", 1);
    const auto other = request_of("b", 1);
    CHECK(cluster.decide({one, other}).is_across_slots());
    CHECK(cluster.decide({one, other}).owned().is_across_slots());
    CHECK_FALSE(cluster.decide({one}).is_across_slots());
    CHECK_FALSE(kLimiter.decide({one, other}).is_across_slots());
}

TEST_CASE("requests are packed as a double, three floats and a byte", "[store]")
{
    auto first = request_of("a", 3);
    first.epoch = 1LL << 53;  // the largest that a double holds exactly
    first.limits = {1, 10'000'000'000};
    auto second = request_of("b", 250);
    second.epoch = 0;
    second.fresh = true;
    for (const LimitCommands* limiter : {&kLimiter, &kLimiterElsewhere}) {
        const auto packed = words(limiter->decide({first, second})).back();
        CHECK(packed.size() == 43);
        CHECK(unpack<double>(packed.substr(0, 8))
              == std::vector<double>{9007199254740992.0});
        CHECK(unpack<float>(packed.substr(8, 12))
              == std::vector<float>{1, 1e10F, 3});
        CHECK(unpack<double>(packed.substr(20, 8)) == std::vector<double>{0});
        CHECK(unpack<float>(packed.substr(28, 12))
              == std::vector<float>{60, 1000, 250});
        CHECK(packed.substr(40) == std::string("\0\1\0", 3));
    }
    CHECK(words(kLimiter.decide({request_of("a", 1)})).back().substr(8, 4)
          == std::string("\0\0\x70\x42", 4));
}

TEST_CASE("four requests that are alike are packed as five doubles and epochs",
          "[store]")
{
    std::vector<LimitRequest> requests;
    for (const auto* const account : {"a", "b", "c", "d"}) {
        auto request = request_of(account, 3);
        request.cost = 2;
        request.limits.month = 5000;
        request.epoch += account[0];
        requests.push_back(request);
    }
    requests[1].fresh = true;
    const auto packed = words(kLimiter.decide(requests)).back();
    CHECK(unpack<double>(packed.substr(0, 72))
          == std::vector<double>{60, 1000, 6, 5000, 2, kEpoch + 'a',
                                 kEpoch + 'b', kEpoch + 'c', kEpoch + 'd'});
    CHECK(packed.substr(72) == std::string("\0\1\0\0\2", 5));

    auto fewer = requests;
    fewer.pop_back();
    CHECK(words(kLimiter.decide(fewer)).back().back() == '\1');

    const auto differs = GENERATE(0, 1, 2, 3, 4);
    requests[3].limits.minute += differs == 0;
    requests[3].limits.day += differs == 1;
    requests[3].limits.month += differs == 2;
    requests[3].requests += differs == 3;
    requests[3].cost += differs == 4;
    CHECK(words(kLimiter.decide(requests)).back().back() == '\1');
}

TEST_CASE("requests are packed as six doubles if one has a month or a cost",
          "[store]")
{
    auto first = request_of("a", 3);
    auto second = request_of("b", 1);
    second.limits.month = 5000;
    auto packed = words(kLimiter.decide({first, second})).back();
    CHECK(unpack<double>(packed.substr(0, 96))
          == std::vector<double>{double(kEpoch), 60, 1000, 3, kNoLimit, 1,
                                 double(kEpoch), 60, 1000, 1, 5000, 1});
    CHECK(packed.substr(96) == std::string("\0\0\1", 3));

    first.cost = 7;
    packed = words(kLimiter.decide({first})).back();
    CHECK(unpack<double>(packed.substr(8, 40))
          == std::vector<double>{60, 1000, 21, kNoLimit, 7});
    CHECK(packed.substr(48) == std::string("\0\1", 2));
}

TEST_CASE("requests are packed as six doubles if a float would round one",
          "[store]")
{
    constexpr std::int64_t kRounded = (1 << 24) + 1;
    auto request = request_of("a", 1);
    const auto limits = [&] {
        const auto packed = words(kLimiter.decide({request})).back();
        REQUIRE(packed.size() == 50);
        return unpack<double>(packed.substr(8, 40));
    };
    request.limits = {kRounded, kRounded + 1};
    CHECK(limits()
          == std::vector<double>{kRounded, kRounded + 1, 1, kNoLimit, 1});
    request.limits = {1, 1'000'000'000'000};
    CHECK(limits() == std::vector<double>{1, 1e12, 1, kNoLimit, 1});
    request.limits = kLimits;
    request.requests = kRounded;
    CHECK(limits() == std::vector<double>{60, 1000, kRounded, kNoLimit, 1});
}

TEST_CASE("a report of denials carries the ban policy", "[store]")
{
    const redis::Script& script = store::scripts().strike;
    const api::BanPolicy policy;
    // A minute limit above the threshold replaces it.
    CHECK(words(kLimiter.report_denials("acc", 7, {15, 12, 60}, policy))[8]
          == "100");
    const auto command =
        kLimiter.report_denials("acc", 7, {15, 12, 500}, policy);
    CHECK(command.routing_key() == "petstore:{acc}:state");
    CHECK(words(command)
          == Words{"EVALSHA", script.sha1, "3", "petstore:{acc}:state",
                   "petstore:{acc}:strikes", "petstore:{acc}:bans", "7", "12",
                   "500", "60", "300", "3600", "15"});
}

TEST_CASE("an admitted request is charged to all windows", "[store]")
{
    const auto result = result_of(reply({answer(1, state(3, 40))}));
    REQUIRE(result.kind == Kind::decided);
    CHECK(result.admitted == 1);
    CHECK(result.epoch == kEpoch);
    CHECK(result.now == 5000);
    REQUIRE(result.version);
    CHECK(result.version->count == 17);
    CHECK(result.version->changes == 5);

    const auto decision = result.decision(0);
    CHECK(decision.verdict == Verdict::admitted);
    CHECK(decision.minute.used == 3);
    CHECK(decision.minute.limit == 60);
    CHECK(decision.minute.reset == 61000);
    CHECK(decision.day.used == 40);
    CHECK(decision.day.limit == 1000);
    CHECK(decision.day.reset == 86401000);
    CHECK(decision.month.used == 40);
    CHECK(decision.month.limit == 0);
    CHECK(decision.cost == 1);
    CHECK(decision.now == 5000);
}

TEST_CASE("usual accounts come as one string", "[store]")
{
    const std::string all = windows(3, 40) + windows(60, 1000);
    const auto results = results_of(bulk(all + stamp(5000, "17", "5")), {2, 1});
    CHECK(results[0].epoch == kEpoch);
    CHECK(results[0].ban_until == 0);
    for (const auto& result : results) {
        REQUIRE(result.kind == Kind::decided);
        CHECK(result.now == 5000);
        REQUIRE(result.version);
        CHECK(result.version->count == 17);
        CHECK(result.version->changes == 5);
    }
    CHECK(results[0].admitted == 2);
    for (int index = 0; index < 2; ++index) {
        CAPTURE(index);
        const auto decision = results[0].decision(index);
        CHECK(decision.verdict == Verdict::admitted);
        CHECK(decision.minute.limit == 60);
        CHECK(decision.minute.used == 2 + index);
        CHECK(decision.minute.reset == 61000);
        CHECK(decision.day.limit == 1000);
        CHECK(decision.day.used == 39 + index);
        CHECK(decision.day.reset == 86401000);
    }
    CHECK(results[1].admitted == 1);
    CHECK(results[1].minute.used == 60);
    CHECK(results[1].day.used == 1000);

    const auto damaged = results_of(
        bulk(windows(-1, 40) + windows(3, 40) + stamp(5000)), {1, 1});
    CHECK(damaged[0].kind == Kind::damaged);
    CHECK(damaged[1].kind == Kind::decided);
}

TEST_CASE("usual accounts beside others come as their windows", "[store]")
{
    const auto results = results_of(
        reply({bulk(windows(3, 40)), answer(1, state(60, 70))}), {2, 3});
    for (const auto& result : results) {
        REQUIRE(result.kind == Kind::decided);
        CHECK(result.now == 5000);
        CHECK(result.version.value().count == 17);
    }
    CHECK(results[0].admitted == 2);
    CHECK(results[0].epoch == kEpoch);
    CHECK(results[0].decision(1).day.used == 40);
    CHECK(results[1].admitted == 1);

    CHECK(result_of(reply({bulk(windows(-1, 40))})).kind == Kind::damaged);
    CHECK(result_of(reply({state(3, 40)})).kind == Kind::invalid);
}

TEST_CASE("a truncated or extended decision is invalid", "[store]")
{
    const std::string end = stamp(5000, "17", "5");
    const std::string longer = end + windows(3, 40) + windows(3, 40);
    for (std::size_t size = 0; size <= longer.size(); ++size) {
        CAPTURE(size);
        const std::string part = longer.substr(0, size);
        const auto kind = size == end.size() ? Kind::decided : Kind::invalid;
        CHECK(result_of(bulk(windows(3, 40) + part)).kind == kind);
        CHECK(result_of(limit_reply({bulk(windows(3, 40))}, part)).kind
              == kind);
    }
    // For fewer or more accounts than were asked about.
    CHECK(results_of(bulk(windows(3, 40) + end), {1, 1})[0].kind
          == Kind::invalid);
    CHECK(result_of(bulk(windows(3, 40) + windows(3, 40) + end)).kind
          == Kind::invalid);
    CHECK(results_of(reply({bulk(windows(3, 40))}), {1, 1})[0].kind
          == Kind::invalid);
    CHECK(result_of(reply({bulk(windows(3, 40)), bulk(windows(3, 40))})).kind
          == Kind::invalid);
}

TEST_CASE("a limiter on another Redis brings no version of the catalogue",
          "[store]")
{
    const auto resp = limit_reply({answer(1, state(3, 40))}, stamp(5000));
    const auto result = result_of(resp, 1, kLimiterElsewhere);
    REQUIRE(result.kind == Kind::decided);
    CHECK(result.admitted == 1);
    CHECK(result.now == 5000);
    CHECK(result.decision(0).minute.used == 3);
    CHECK_FALSE(result.version);

    // With the catalogue on the same Redis, this reply means an empty one.
    const auto here = result_of(resp);
    REQUIRE(here.version);
    CHECK(here.version->is_empty());

    // Other values in their place are not taken for a version either.
    const auto strange = reply({answer(1, state(3, 40))});
    CHECK_FALSE(result_of(strange, 1, kLimiterElsewhere).version);
    CHECK(result_of("*2\r\n:1\r\n:2\r\n", 1, kLimiterElsewhere).kind
          == Kind::invalid);
}

TEST_CASE("each of several requests sees its own count", "[store]")
{
    const auto result = result_of(reply({answer(3, state(60, 103))}), 5);
    REQUIRE(result.kind == Kind::decided);
    for (int index = 0; index < 3; ++index) {
        CAPTURE(index);
        CHECK(result.decision(index).verdict == Verdict::admitted);
        CHECK(result.decision(index).minute.used == 58 + index);
        CHECK(result.decision(index).day.used == 101 + index);
    }
    for (int index = 3; index < 5; ++index) {
        CAPTURE(index);
        CHECK(result.decision(index).verdict == Verdict::limited);
        CHECK(result.decision(index).minute.used == 60);
        CHECK(result.decision(index).now == 5000);
    }
}

TEST_CASE("each of several requests sees its own count of units", "[store]")
{
    auto request = request_of("acc", 4);
    request.cost = 25;
    Replies replies;
    const auto results = kLimiter.parse_decisions(
        replies(reply({answer(2, state(50, 150))})), {request});
    const auto second = results[0].decision(1);
    CHECK(second.verdict == Verdict::admitted);
    CHECK(second.cost == 25);
    CHECK(second.minute.used == 50);
    const auto first = results[0].decision(0);
    CHECK(first.minute.used == 25);
    CHECK(first.day.used == 125);
    CHECK(first.month.used == 125);
    const auto third = results[0].decision(2);
    CHECK(third.verdict == Verdict::limited);
    CHECK(third.cost == 25);
    CHECK(third.minute.used == 50);
}

TEST_CASE("a monthly limit ends with the month of the charge", "[store]")
{
    constexpr std::int64_t kDay = 86'400'000;
    const api::Limits limits{60, 1000, 5000};
    auto request = request_of("acc", 1);
    request.limits = limits;
    Replies replies;
    // Usual: in the month of the stamp, 1970-02-01.
    auto results = kLimiter.parse_decisions(
        replies(bulk(windows(3, 40) + stamp(31 * kDay))), {request});
    auto month = results[0].decision(0).month;
    CHECK(month.limit == 5000);
    CHECK(month.used == 40);
    CHECK(month.reset == 59 * kDay);
    // Otherwise: in the state's month, as its day never goes back.
    store::AccountState state{kEpoch, 31, 3, 61000, 40, 86401000, 5000, 0, 31};
    results = kLimiter.parse_decisions(
        replies(limit_reply({answer(0, bulk(encode_state(state)))},
                            stamp(31 * kDay - 1))),
        {request});
    month = results[0].decision(0).month;
    CHECK(month.used == 5000);
    CHECK(month.reset == 59 * kDay);

    const auto status = [&](std::int64_t used, std::int64_t cost) {
        state.month_used = used;
        return LimitCommands::parse_status(
                   replies(array({integer(1), integer(0), integer(5000),
                                  bulk(encode_state(state))})),
                   limits, cost)
            .decision;
    };
    CHECK(status(5000, 1).verdict == Verdict::limited);
    CHECK(status(5000, 1).month.reset == 59 * kDay);
    CHECK(status(4993, 7).verdict == Verdict::admitted);
    CHECK(status(4994, 7).verdict == Verdict::limited);
    CHECK(status(4994, 7).cost == 7);
}

TEST_CASE("an account that failed alone is asked about again", "[store]")
{
    CHECK(result_of(reply({answer(-5, bulk(""))})).kind == Kind::alone);
    CHECK(result_of(reply({answer(-6, bulk(""))})).kind == Kind::invalid);
}

TEST_CASE("each account of a command has its own result", "[store]")
{
    const auto results = results_of(
        reply({answer(2, state(2, 2)), answer(-1, state(0, 0, 0, kEpoch + 1)),
               answer(-2, bulk("")), answer(0, state(60, 70))}),
        {2, 1, 1, 1});
    REQUIRE(results.size() == 4);
    CHECK(results[0].kind == Kind::decided);
    CHECK(results[0].admitted == 2);
    CHECK(results[1].kind == Kind::stale);
    CHECK(results[1].epoch == kEpoch + 1);
    CHECK(results[2].kind == Kind::damaged);
    CHECK(results[3].kind == Kind::decided);
    CHECK(results[3].decision(0).verdict == Verdict::limited);
}

TEST_CASE("a banned account is denied until the ban ends", "[store]")
{
    const auto result = result_of(reply({answer(0, state(1, 2, 305000))}));
    REQUIRE(result.kind == Kind::decided);
    CHECK(result.decision(0).verdict == Verdict::banned);
    CHECK(result.decision(0).ban_until == 305000);
    CHECK(result.decision(0).now == 5000);
}

TEST_CASE("the reply to a report brings the account's status", "[store]")
{
    auto status = status_after(33, 0, state(60, 70));
    REQUIRE(status.kind == Kind::decided);
    CHECK(status.decision.verdict == Verdict::limited);
    CHECK(status.decision.now == 5000);
    CHECK(status.strikes == 33);
    CHECK_FALSE(status.new_ban);

    status = status_after(101, 1, state(60, 70, 305000));
    CHECK(status.decision.verdict == Verdict::banned);
    CHECK(status.decision.ban_until == 305000);
    CHECK(status.strikes == 101);
    CHECK(status.new_ban);

    CHECK(status_after(33, 0, state(0, 70)).decision.verdict
          == Verdict::admitted);
    CHECK(status_after(33, 0, state(0, 1000)).decision.verdict
          == Verdict::limited);
    CHECK(status_after(-1, 0, state(0, 0)).kind == Kind::stale);
    CHECK(status_after(-1, 0, bulk("")).kind == Kind::stale);
    CHECK(status_after(-2, 0, state(0, 0)).kind == Kind::invalid);
    CHECK(status_after(1, 0, bulk("")).kind == Kind::invalid);
    CHECK(status_after(1, 0, kNil).kind == Kind::invalid);
}

TEST_CASE("a reply that neither script gives is invalid", "[store]")
{
    const std::string reply = foreign_reply();
    CAPTURE(reply);
    CHECK(result_of(reply).kind == Kind::invalid);
    CHECK(result_of(reply, 1, kLimiterElsewhere).kind == Kind::invalid);
    CHECK(status_of(reply).kind == Kind::invalid);
}

TEST_CASE("an impossible decision is invalid", "[store]")
{
    // More admitted requests than were asked for.
    CHECK(result_of(reply({answer(2, state(2, 2))})).kind == Kind::invalid);
    CHECK(result_of(reply({array({bulk("1"), state(1, 1)})})).kind
          == Kind::invalid);
    CHECK(result_of(reply({answer(1, kNil)})).kind == Kind::invalid);
    CHECK(result_of(reply({array({integer(1), state(1, 1), integer(1)})})).kind
          == Kind::invalid);
    for (const std::int64_t now : {std::int64_t{-1}, INT64_MAX}) {
        CAPTURE(now);
        CHECK(result_of(limit_reply({answer(1, state(1, 1))}, stamp(now))).kind
              == Kind::invalid);
        CHECK(result_of(bulk(windows(1, 1) + stamp(now))).kind
              == Kind::invalid);
    }
}

TEST_CASE("a count that a script cannot have is invalid", "[store]")
{
    constexpr long long kExact = 9007199254740992;  // 2^53
    for (const long long count : {kExact + 1, LLONG_MAX}) {
        CAPTURE(count);
        CHECK(status_after(count, 0, state(0, 0)).kind == Kind::invalid);
        CHECK(status_of(
                  array({integer(1), integer(0), integer(count), state(0, 0)}))
                  .kind
              == Kind::invalid);
    }
    CHECK(status_after(kExact, 0, state(0, 0)).kind == Kind::decided);
}

TEST_CASE("an impossible state is damaged", "[store]")
{
    CHECK(result_of(reply({answer(1, state(-1, 2))})).kind == Kind::damaged);
    CHECK(result_of(reply({answer(-1, bulk(std::string(48, 'x')))})).kind
          == Kind::damaged);
    CHECK(result_of(reply({answer(-2, bulk(""))})).kind == Kind::damaged);
}

TEST_CASE("a damaged catalogue does not affect decisions", "[store]")
{
    using Damage = store::Version::Damage;
    const auto damage = [](const std::string& count,
                           const std::string& changes) {
        const auto result = result_of(limit_reply({answer(1, state(3, 40))},
                                                  stamp(5000, count, changes)));
        REQUIRE(result.kind == Kind::decided);
        CHECK(result.decision(0).verdict == Verdict::admitted);
        return result.version.value().damage();
    };
    CHECK(damage("17", "5") == Damage::none);
    CHECK(damage("0", "0") == Damage::none);
    CHECK(damage("0", "5") == Damage::count);
    CHECK(damage("x", "5") == Damage::count);
    CHECK(damage("", "5") == Damage::count);
    CHECK(damage("17", "0") == Damage::changes);
    CHECK(damage("17", "") == Damage::changes);
    CHECK(damage("17", "5 ") == Damage::changes);
}
