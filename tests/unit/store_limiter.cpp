#include "catch.h"

#include <string>
#include <vector>

#include "store/account_state.h"
#include "store/limiter.h"
#include "store_replies.h"

using namespace petstore;
using api::Verdict;
using store::AccountState;
using store::Limiter;
using Result = store::Limiter::Answer::Result;
using Words = std::vector<std::string>;

namespace {

const store::Schema kSchema("petstore");
const api::Limits kLimits{60, 1000};
constexpr std::int64_t kEpoch = 1795254442316000;

Limiter::Question question_of(std::string_view account, std::int64_t requests)
{
    Limiter::Question question;
    question.account = account;
    question.epoch = kEpoch;
    question.limits = kLimits;
    question.requests = requests;
    return question;
}

std::string state(std::int64_t minute, std::int64_t day, std::int64_t ban = 0,
                  std::int64_t epoch = kEpoch)
{
    return bulk(encode_numbers({epoch, ban, minute, 61000, day, 86401000}));
}

std::string reply(const std::vector<std::string>& accounts)
{
    std::vector<std::string> items{integer(5000), bulk("17"), bulk("5")};
    items.insert(items.end(), accounts.begin(), accounts.end());
    return array(items);
}

std::vector<Limiter::Answer>
answers_to(const std::string& resp, const std::vector<std::int64_t>& requests)
{
    Replies replies;
    std::vector<Limiter::Question> questions;
    for (const auto count : requests) {
        questions.push_back(question_of("acc", count));
    }
    return Limiter::parse_answers(replies(resp), questions);
}

Limiter::Answer answer_to(const std::string& resp, std::int64_t requests = 1)
{
    const auto answers = answers_to(resp, {requests});
    REQUIRE(answers.size() == 1);
    return answers.front();
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
                    "+1\r\n", "+OK\r\n", ":1\r\n", "-ERR x\r\n", "*0\r\n",
                    "*-1\r\n", "*1\r\n:1\r\n", "*2\r\n$1\r\n1\r\n:1\r\n",
                    "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
                    "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
                    "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n$2\r\nxy\r\n",
                    "*7\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
}

}  // namespace

TEST_CASE("an account's state is six doubles", "[store]")
{
    const auto bytes = encode_numbers({kEpoch, 0, 60, 61000, 1000, 86401000});
    REQUIRE(bytes.size() == AccountState::kSize);
    // 60.0, the least significant byte first
    CHECK(bytes.substr(16, 8) == std::string("\0\0\0\0\0\0\x4e\x40", 8));
    const auto state = AccountState::decode(bytes);
    REQUIRE(state);
    CHECK(state->epoch == kEpoch);
    CHECK(state->ban_until == 0);
    CHECK(state->minute_used == 60);
    CHECK(state->minute_end == 61000);
    CHECK(state->day_used == 1000);
    CHECK(state->day_end == 86401000);
}

TEST_CASE("what is no account's state", "[store]")
{
    const auto good = encode_numbers({1, 2, 3, 4, 5, 6});
    CHECK_FALSE(AccountState::decode(""));
    CHECK_FALSE(AccountState::decode(good.substr(1)));
    CHECK_FALSE(AccountState::decode(good + "x"));
    CHECK_FALSE(AccountState::decode(encode_numbers({1, 2, -3, 4, 5, 6})));
    CHECK(AccountState::decode(encode_numbers({1, 2, 1LL << 53, 4, 5, 6})));
    CHECK_FALSE(
        AccountState::decode(encode_numbers({1, 2, 1LL << 54, 4, 5, 6})));
    // 0.5, infinity, not a number, the largest, as doubles
    for (const auto& wrong :
         {std::string("\0\0\0\0\0\0\xe0\x3f", 8),
          std::string("\0\0\0\0\0\0\xf0\x7f", 8),
          std::string("\0\0\0\0\0\0\xf8\x7f", 8),
          std::string("\xff\xff\xff\xff\xff\xff\xef\x7f", 8)}) {
        CHECK_FALSE(AccountState::decode(good.substr(0, 40) + wrong));
        CHECK_FALSE(AccountState::decode(wrong + good.substr(8)));
    }
}

TEST_CASE("the limiter asks one script of all accounts", "[store]")
{
    const Limiter limiter(kSchema);
    const store::Script& script = store::scripts::limit();
    auto fresh = question_of("b", 12);
    fresh.fresh = true;
    const std::vector<Limiter::Question> questions{question_of("a", 1), fresh};
    CHECK(words(limiter.decide(questions, false))
          == Words{"EVALSHA", script.sha1, "4", "petstore:{a}:state",
                   "petstore:{b}:state", "petstore:{petstore:pets}:last-id",
                   "petstore:{petstore:pets}:changes",
                   encode_numbers(
                       {kEpoch, 60, 1000, 1, 0, kEpoch, 60, 1000, 12, 1})});
    const auto command = words(limiter.decide(questions, true));
    CHECK(command[0] == "EVAL");
    CHECK(command[1] == script.text);
}

TEST_CASE("strikes bring the ban's policy", "[store]")
{
    const Limiter limiter(kSchema);
    const store::Script& script = store::scripts::strike();
    api::BanPolicy policy;
    CHECK(words(limiter.strike("acc", 7, 12, kLimits, policy, false))
          == Words{"EVALSHA", script.sha1, "3", "petstore:{acc}:state",
                   "petstore:{acc}:strikes", "petstore:{acc}:bans", "7", "12",
                   "100", "60", "300", "3600"});
    CHECK(words(limiter.strike("acc", 7, 12, {500, 1000}, policy, false))[8]
          == "500");
    policy.enabled = false;
    CHECK(words(limiter.strike("acc", 7, 12, kLimits, policy, false))[8]
          == "9223372036854775807");
}

TEST_CASE("an admitted request", "[store]")
{
    const auto answer = answer_to(reply({integer(1), state(3, 40)}));
    REQUIRE(answer.result == Result::decided);
    CHECK(answer.admitted == 1);
    CHECK(answer.epoch == kEpoch);
    CHECK(answer.now == 5000);
    CHECK(answer.version.last_id == 17);
    CHECK(answer.version.changes == 5);

    const auto decision = answer.decision(0);
    CHECK(decision.verdict == Verdict::admitted);
    CHECK(decision.minute.used == 3);
    CHECK(decision.minute.limit == 60);
    CHECK(decision.minute.reset == 61000);
    CHECK(decision.day.used == 40);
    CHECK(decision.day.limit == 1000);
    CHECK(decision.day.reset == 86401000);
}

TEST_CASE("each of several requests sees its own count", "[store]")
{
    const auto answer = answer_to(reply({integer(3), state(60, 103)}), 5);
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

TEST_CASE("each account has an answer of its own", "[store]")
{
    const auto answers = answers_to(
        reply({integer(2), state(2, 2), integer(-1), state(0, 0, 0, kEpoch + 1),
               integer(-2), bulk(""), integer(0), state(60, 70)}),
        {2, 1, 1, 1});
    REQUIRE(answers.size() == 4);
    CHECK(answers[0].result == Result::decided);
    CHECK(answers[0].admitted == 2);
    CHECK(answers[1].result == Result::stale);
    CHECK(answers[1].epoch == kEpoch + 1);
    CHECK(answers[2].result == Result::damaged);
    CHECK(answers[3].result == Result::decided);
    CHECK(answers[3].decision(0).verdict == Verdict::limited);
}

TEST_CASE("a banned account", "[store]")
{
    const auto answer = answer_to(reply({integer(0), state(1, 2, 305000)}));
    REQUIRE(answer.result == Result::decided);
    CHECK(answer.decision(0).verdict == Verdict::banned);
    CHECK(answer.decision(0).ban_until == 305000);
    CHECK(answer.decision(0).now == 5000);
}

TEST_CASE("an account's standing after strikes", "[store]")
{
    const auto standing = [](long long strikes, long long new_ban,
                             const std::string& state) {
        return standing_of(
            array({integer(strikes), integer(new_ban), integer(5000), state}));
    };
    auto told = standing(33, 0, state(60, 70));
    REQUIRE(told.result == Result::decided);
    CHECK(told.decision.verdict == Verdict::limited);
    CHECK(told.decision.now == 5000);
    CHECK(told.strikes == 33);
    CHECK_FALSE(told.new_ban);

    told = standing(101, 1, state(60, 70, 305000));
    CHECK(told.decision.verdict == Verdict::banned);
    CHECK(told.decision.ban_until == 305000);
    CHECK(told.strikes == 101);
    CHECK(told.new_ban);

    CHECK(standing(33, 0, state(0, 70)).decision.verdict == Verdict::admitted);
    CHECK(standing(33, 0, state(0, 1000)).decision.verdict == Verdict::limited);
    CHECK(standing(-1, 0, state(0, 0)).result == Result::stale);
    CHECK(standing(-1, 0, bulk("")).result == Result::stale);
    CHECK(standing(-2, 0, state(0, 0)).result == Result::invalid);
    CHECK(standing(1, 0, bulk("")).result == Result::invalid);
    CHECK(standing(1, 0, kNil).result == Result::invalid);
}

TEST_CASE("what neither script answers is invalid", "[store]")
{
    const std::string reply = foreign_reply();
    CAPTURE(reply);
    CHECK(answer_to(reply).result == Result::invalid);
    CHECK(standing_of(reply).result == Result::invalid);
}

TEST_CASE("an answer that cannot be is invalid", "[store]")
{
    // More admitted than asked for.
    CHECK(answer_to(reply({integer(2), state(2, 2)})).result
          == Result::invalid);
    CHECK(answer_to(reply({bulk("1"), state(2, 2)})).result == Result::invalid);
    CHECK(answer_to(reply({integer(1), kNil})).result == Result::invalid);
    CHECK(answer_to(array({integer(-1), bulk("17"), bulk("5"), integer(1),
                           state(1, 1)}))
              .result
          == Result::invalid);
}

TEST_CASE("a state that cannot be is damaged", "[store]")
{
    CHECK(answer_to(reply({integer(1), state(-1, 2)})).result
          == Result::damaged);
    CHECK(answer_to(reply({integer(-1), bulk(std::string(48, 'x'))})).result
          == Result::damaged);
    CHECK(answer_to(reply({integer(-2), bulk("")})).result == Result::damaged);
}

TEST_CASE("a damaged catalogue changes nothing for an account", "[store]")
{
    using Damage = store::Version::Damage;
    const auto damage = [](const std::string& last_id,
                           const std::string& changes) {
        const auto answer = answer_to(
            array({integer(5000), last_id, changes, integer(1), state(3, 40)}));
        REQUIRE(answer.result == Result::decided);
        CHECK(answer.decision(0).verdict == Verdict::admitted);
        return answer.version.damage();
    };
    CHECK(damage(bulk("17"), bulk("5")) == Damage::none);
    CHECK(damage(kNil, kNil) == Damage::none);
    CHECK(damage(kNil, bulk("5")) == Damage::last_id);
    CHECK(damage(bulk("x"), bulk("5")) == Damage::last_id);
    CHECK(damage(bulk("17"), kNil) == Damage::changes);
    CHECK(damage(bulk("17"), bulk("")) == Damage::changes);
}
