#include "catch.h"

#include <string>
#include <vector>

#include "store/limiter.h"
#include "store_replies.h"

using namespace petstore;
using api::Verdict;
using store::Limiter;
using Result = store::Limiter::Answer::Result;
using Words = std::vector<std::string>;

namespace {

const store::Schema kSchema("petstore");
const api::Limits kLimits{60, 1000};

Limiter::Question question_of(std::string_view account, std::string_view epoch)
{
    Limiter::Question question;
    question.account = account;
    question.epoch = epoch;
    question.limits = kLimits;
    return question;
}

std::string numbers(const std::vector<long long>& values)
{
    std::vector<std::string> items;
    for (const long long value : values) {
        items.push_back(integer(value));
    }
    return array(items);
}

Limiter::Answer answer_to(const std::string& resp)
{
    Replies replies;
    return Limiter::parse_answer(replies(resp), kLimits);
}

Limiter::Standing standing_of(const std::string& resp)
{
    Replies replies;
    return Limiter::parse_standing(replies(resp), kLimits);
}

// Neither script answers like this.
std::string foreign_reply()
{
    return GENERATE(as<std::string>{}, "$-1\r\n", "$0\r\n\r\n", "$1\r\nx\r\n",
                    "$3\r\n1!2\r\n", "$2\r\n-1\r\n", "+1\r\n", "+OK\r\n",
                    ":1\r\n", "-ERR x\r\n", "*0\r\n", "*-1\r\n", "*1\r\n:1\r\n",
                    "*2\r\n$1\r\n1\r\n:1\r\n",
                    "*7\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
}

}  // namespace

TEST_CASE("the limiter asks one script", "[store]")
{
    const Limiter limiter(kSchema);
    const store::Script& script = store::scripts::limit();
    auto question = question_of("acc", "7");
    CHECK(words(limiter.decide(question, false))
          == Words{"EVALSHA", script.sha1, "5", "petstore:{acc}:state",
                   "petstore:{acc}:minute", "petstore:{acc}:day",
                   "petstore:{petstore:pets}:last-id",
                   "petstore:{petstore:pets}:changes", "7", "60", "1000", "1",
                   "0"});
    question.requests = 12;
    question.tell_time = true;
    const auto command = words(limiter.decide(question, true));
    CHECK(command[0] == "EVAL");
    CHECK(command[1] == script.text);
    CHECK(command[11] == "12");
    CHECK(command[12] == "1");
}

TEST_CASE("strikes bring the ban's policy", "[store]")
{
    const Limiter limiter(kSchema);
    const store::Script& script = store::scripts::strike();
    api::BanPolicy policy;
    CHECK(words(limiter.strike("acc", "7", 12, kLimits, policy, false))
          == Words{"EVALSHA", script.sha1, "5", "petstore:{acc}:state",
                   "petstore:{acc}:minute", "petstore:{acc}:day",
                   "petstore:{acc}:strikes", "petstore:{acc}:bans", "7", "12",
                   "100", "60", "300", "3600"});
    CHECK(words(limiter.strike("acc", "7", 12, {500, 1000}, policy, false))[10]
          == "500");
    policy.enabled = false;
    CHECK(words(limiter.strike("acc", "7", 12, kLimits, policy, false))[10]
          == "9223372036854775807");
}

TEST_CASE("an admitted request", "[store]")
{
    const auto answer =
        answer_to(numbers({1, 3, 40, 60000, 86400000, 0, 0, 17, 5}));
    REQUIRE(answer.result == Result::decided);
    CHECK(answer.admitted == 1);
    CHECK(answer.version.last_id == 17);
    CHECK(answer.version.changes == 5);

    const auto decision = answer.decision(0);
    CHECK(decision.verdict == Verdict::admitted);
    CHECK(decision.minute.used == 3);
    CHECK(decision.minute.limit == 60);
    CHECK(decision.minute.reset == 60000);
    CHECK(decision.day.used == 40);
    CHECK(decision.day.limit == 1000);
    CHECK(decision.day.reset == 86400000);
}

TEST_CASE("each of several requests sees its own count", "[store]")
{
    const auto answer =
        answer_to(numbers({3, 60, 103, 61000, 86401000, 5000, 0, 17, 5}));
    REQUIRE(answer.result == Result::decided);
    for (int index = 0; index < 3; ++index) {
        CAPTURE(index);
        CHECK(answer.decision(index).verdict == Verdict::admitted);
        CHECK(answer.decision(index).minute.used == 58 + index);
        CHECK(answer.decision(index).day.used == 101 + index);
    }
    for (int index = 3; index < 5; ++index) {
        CAPTURE(index);
        CHECK(answer.decision(index).verdict == Verdict::limited);
        CHECK(answer.decision(index).minute.used == 60);
        CHECK(answer.decision(index).now == 5000);
    }
}

TEST_CASE("a banned account", "[store]")
{
    const auto answer =
        answer_to(numbers({0, 1, 2, 61000, 86401000, 5000, 305000, 17, 5}));
    REQUIRE(answer.result == Result::decided);
    CHECK(answer.decision(0).verdict == Verdict::banned);
    CHECK(answer.decision(0).ban_until == 305000);
    CHECK(answer.decision(0).now == 5000);
}

TEST_CASE("an account's standing after strikes", "[store]")
{
    auto standing =
        standing_of(numbers({60, 70, 61000, 86401000, 5000, 0, 33, 0}));
    REQUIRE(standing.result == Result::decided);
    CHECK(standing.decision.verdict == Verdict::limited);
    CHECK(standing.decision.now == 5000);
    CHECK(standing.strikes == 33);
    CHECK_FALSE(standing.new_ban);

    standing =
        standing_of(numbers({60, 70, 61000, 86401000, 5000, 305000, 101, 1}));
    CHECK(standing.decision.verdict == Verdict::banned);
    CHECK(standing.decision.ban_until == 305000);
    CHECK(standing.strikes == 101);
    CHECK(standing.new_ban);

    standing = standing_of(numbers({0, 70, 65000, 86401000, 5000, 0, 33, 0}));
    CHECK(standing.decision.verdict == Verdict::admitted);
    standing = standing_of(numbers({0, 1000, 65000, 86401000, 5000, 0, 33, 0}));
    CHECK(standing.decision.verdict == Verdict::limited);
}

TEST_CASE("a stale epoch", "[store]")
{
    const auto answer = answer_to("$16\r\n1795254442316000\r\n");
    CHECK(answer.result == Result::stale);
    CHECK(answer.epoch == "1795254442316000");
    CHECK(standing_of("$2\r\n12\r\n").result == Result::stale);
}

TEST_CASE("what neither script answers is invalid", "[store]")
{
    const std::string reply = foreign_reply();
    CAPTURE(reply);
    CHECK(answer_to(reply).result == Result::invalid);
    CHECK(standing_of(reply).result == Result::invalid);
}

TEST_CASE("an answer of the other script is invalid", "[store]")
{
    CHECK(answer_to(numbers({1, 1, 1, 1, 1, 1, 1, 1})).result
          == Result::invalid);
    CHECK(standing_of(numbers({1, 1, 1, 1, 1, 1, 1, 1, 1})).result
          == Result::invalid);
}

TEST_CASE("a counter that lost its end is invalid", "[store]")
{
    // PEXPIRETIME tells -1 and -2 of a key without a time and of none.
    for (const auto& values :
         std::vector<std::vector<long long>>{{1, 1, 1, -1, 1, 0, 0, 1, 1},
                                             {1, 1, 1, 1, -2, 0, 0, 1, 1},
                                             {1, 1, 1, 0, 1, 0, 0, 1, 1},
                                             {1, 1, 1, 1, 0, 0, 0, 1, 1},
                                             {1, -1, 1, 1, 1, 0, 0, 1, 1},
                                             {-1, 1, 1, 1, 1, 0, 0, 1, 1}}) {
        CAPTURE(values);
        CHECK(answer_to(numbers(values)).result == Result::invalid);
    }
    CHECK(answer_to(
              array({integer(1), integer(1), integer(1), integer(1), bulk("1"),
                     integer(0), integer(0), integer(1), integer(1)}))
              .result
          == Result::invalid);
    CHECK(standing_of(numbers({1, 1, -1, 1, 1, 0, 1, 0})).result
          == Result::invalid);
}
