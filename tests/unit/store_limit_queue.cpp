#include "catch.h"

#include <string>
#include <vector>

#include "fake_link.h"
#include "store/account_state.h"
#include "store/limit_queue.h"

using namespace petstore;
using store::Limiter;
using Result = store::Limiter::Answer::Result;

namespace {

struct Waiter final : store::LimitWaiter {
    void on_limit_sent() noexcept override { ++told; }
    void on_limit(const Limiter::Answer& answer,
                  std::int64_t index) noexcept override
    {
        ++calls;
        result = answer.result;
        if (result == Result::decided) {
            const auto decision = answer.decision(index);
            admitted = decision.verdict == api::Verdict::admitted;
            remaining = decision.minute.remaining();
        }
    }
    void on_limit_error(const resp::Reply& error) noexcept override
    {
        ++calls;
        this->error = error.error_code();
    }
    void on_limit_loss(store::Loss loss) noexcept override
    {
        ++calls;
        ++losses;
        this->loss = loss;
    }

    int told = 0;
    int calls = 0;
    int losses = 0;
    Result result = Result::invalid;
    bool admitted = false;
    std::int64_t remaining = -1;
    std::string error;
    store::Loss loss = store::Loss::unknown;
};

constexpr std::int64_t kEpoch = 7;

struct Turn {
    Turn() : key(make_key("acc")) {}

    std::shared_ptr<store::CachedKey> make_key(const std::string& account)
    {
        auto made = std::make_shared<store::CachedKey>();
        made->account = cache.account(account);
        made->limits = {60, 1000};
        made->epoch = kEpoch;
        return made;
    }

    void add(bool fresh = false) { add(key, fresh); }

    void add(const std::shared_ptr<store::CachedKey>& of, bool fresh = false)
    {
        waiters.push_back(std::make_unique<Waiter>());
        queue.add(of, fresh, *waiters.back());
    }

    const store::Schema schema{"petstore"};
    const Limiter limiter{schema};
    FakeLink link;
    store::KeyCache cache{1 << 20};
    store::LimitQueue queue{link, limiter};
    std::shared_ptr<store::CachedKey> key;
    std::vector<std::unique_ptr<Waiter>> waiters;
};

std::string asked(std::int64_t requests, bool fresh = false)
{
    return encode_numbers({kEpoch, 60, 1000, requests, fresh ? 1 : 0});
}

struct Verdict {
    long long admitted;
    long long used;
    std::int64_t epoch = kEpoch;
};

std::string decided(const std::vector<Verdict>& verdicts)
{
    std::vector<std::string> items{integer(5), kNil, kNil};
    for (const auto& [admitted, used, epoch] : verdicts) {
        items.push_back(integer(admitted));
        items.push_back(
            bulk(encode_numbers({epoch, 0, used, 60'000, used, 86'400'000})));
    }
    return array(items);
}

std::string decided(long long admitted, long long used)
{
    return decided({{admitted, used}});
}

}  // namespace

TEST_CASE("the requests of a turn are one question", "[store]")
{
    Turn turn;
    for (int i = 0; i < 5; ++i) {
        turn.add(i == 3);
    }
    CHECK(turn.link.sent.empty());
    turn.link.end_turn();
    REQUIRE(turn.link.sent.size() == 1);
    const auto& question = turn.link.sent.front();
    CHECK(question[0] == "EVALSHA");
    CHECK(question[2] == "3");
    CHECK(question.back() == asked(5, true));  // one has just read the record

    // Three are admitted, the first ones, each with a number of its own.
    turn.link.reply(decided(3, 60));
    for (int i = 0; i < 5; ++i) {
        const auto& waiter = *turn.waiters[static_cast<std::size_t>(i)];
        CHECK(waiter.told == 1);
        CHECK(waiter.calls == 1);
        CHECK(waiter.admitted == (i < 3));
        CHECK(waiter.remaining == (i < 3 ? 2 - i : 0));
    }
}

TEST_CASE("the accounts of a turn are one question", "[store]")
{
    Turn turn;
    const auto other = turn.make_key("other");
    turn.add();
    turn.add(other);
    turn.add();
    turn.link.end_turn();
    REQUIRE(turn.link.sent.size() == 1);
    const auto& question = turn.link.sent.front();
    REQUIRE(question.size() == 8);
    CHECK(question[2] == "4");
    CHECK(question[3] == "petstore:{acc}:state");
    CHECK(question[4] == "petstore:{other}:state");
    CHECK(question[7] == asked(2) + asked(1));

    turn.link.reply(decided({{1, 60}, {-1, 0, 9}}));
    CHECK(turn.waiters[0]->admitted);
    CHECK(turn.waiters[1]->result == Result::stale);
    CHECK(turn.waiters[2]->result == Result::decided);
    CHECK_FALSE(turn.waiters[2]->admitted);
}

// The script reads all of its accounts before it charges any.
TEST_CASE("no account is twice in a question", "[store]")
{
    Turn turn;
    const auto second = turn.make_key("acc");  // another key of the account
    turn.add();
    turn.add(second);
    turn.add(second);
    turn.add();
    turn.link.end_turn();
    REQUIRE(turn.link.sent.size() == 2);
    for (const auto& question : turn.link.sent) {
        CHECK(question[2] == "3");
        CHECK(question[3] == "petstore:{acc}:state");
        CHECK(question.back() == asked(2));
    }
    turn.link.reply(decided(2, 2));
    turn.link.reply(decided(2, 4));
    // In the order of the commands: the first key's requests come first.
    const std::vector<std::int64_t> remaining = {59, 57, 56, 58};
    for (std::size_t i = 0; i < remaining.size(); ++i) {
        CHECK(turn.waiters[i]->calls == 1);
        CHECK(turn.waiters[i]->remaining == remaining[i]);
    }
}

// A client that rotates its key uses both for a while.
TEST_CASE("alternating keys of an account need one command per key", "[store]")
{
    Turn turn;
    const auto second = turn.make_key("acc");
    const auto other = turn.make_key("other");
    for (int i = 0; i < 500; ++i) {
        turn.add(i % 2 == 0 ? turn.key : second);
        turn.add(other);
    }
    turn.link.end_turn();
    REQUIRE(turn.link.sent.size() == 2);
    turn.link.reply(decided({{250, 250}, {500, 500}}));
    turn.link.reply(decided({{250, 500}}));
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->admitted);
    }
}

TEST_CASE("a link that cannot defer sends the command at once", "[store]")
{
    Turn turn;
    turn.link.defers = false;
    turn.add();
    turn.add();
    REQUIRE(turn.link.sent.size() == 2);
    turn.link.reply(decided(1, 1));
    turn.link.reply(decided(1, 2));
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->told == 1);
        CHECK(waiter->calls == 1);
        CHECK(waiter->admitted);
    }
}

TEST_CASE("many accounts are several questions", "[store]")
{
    Turn turn;
    std::vector<std::shared_ptr<store::CachedKey>> keys;
    for (int i = 0; i < 300; ++i) {
        keys.push_back(turn.make_key("a" + std::to_string(i)));
        turn.add(keys.back());
    }
    turn.link.end_turn();
    REQUIRE(turn.link.sent.size() == 3);
    std::size_t accounts = 0;
    for (const auto& question : turn.link.sent) {
        const auto here = question.size() - 6;
        CHECK(here <= 128);
        accounts += here;
        turn.link.reply(decided(std::vector<Verdict>(here, {1, 1})));
    }
    CHECK(accounts == 300);
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->admitted);
    }
}

TEST_CASE("a new account's epoch is the one that is told", "[store]")
{
    Turn turn;
    turn.key->epoch = 0;
    turn.add(true);
    turn.link.end_turn();
    turn.link.reply(decided({{1, 1, 99}}));
    CHECK(turn.waiters[0]->admitted);
    CHECK(turn.key->epoch == 99);
}

TEST_CASE("the next turn asks anew", "[store]")
{
    Turn turn;
    turn.add();
    turn.link.end_turn();
    turn.add();
    turn.link.end_turn();
    REQUIRE(turn.link.sent.size() == 2);
    turn.link.reply(decided(1, 1));
    CHECK(turn.waiters[0]->calls == 1);
    CHECK(turn.waiters[1]->calls == 0);
    turn.link.reply(decided(1, 2));
    CHECK(turn.waiters[1]->remaining == 58);
}

TEST_CASE("a question is put again with the script, once", "[store]")
{
    Turn turn;
    turn.add();
    turn.add();
    turn.link.end_turn();
    turn.link.reply("-NOSCRIPT No matching script\r\n");
    REQUIRE(turn.link.sent.size() == 2);
    CHECK(turn.link.sent[1][0] == "EVAL");
    CHECK(turn.waiters[0]->calls == 0);
    turn.link.reply("-NOSCRIPT still not\r\n");
    CHECK(turn.link.sent.size() == 2);
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->told == 1);
        CHECK(waiter->error == "NOSCRIPT");
    }
}

TEST_CASE("a lost question is lost for all and never put again", "[store]")
{
    Turn turn;
    turn.add();
    turn.add();
    turn.link.end_turn();
    REQUIRE(turn.link.handlers.size() == 1);
    turn.link.handlers.front()->on_loss(store::Loss::unknown);
    CHECK(turn.link.sent.size() == 1);
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->loss == store::Loss::unknown);
    }
}

TEST_CASE("a question that cannot be sent", "[store]")
{
    Turn turn;
    turn.link.full = true;
    turn.add();
    turn.add();
    turn.link.end_turn();
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->told == 0);
        CHECK(waiter->losses == 1);
        CHECK(waiter->loss == store::Loss::not_sent);
    }
    // The key is not left with a question that is gone.
    turn.link.full = false;
    turn.add();
    turn.link.end_turn();
    CHECK(turn.link.sent.size() == 1);
    turn.link.reply(decided(1, 1));
    CHECK(turn.waiters[2]->admitted);
}

TEST_CASE("an answer that is none reaches everybody", "[store]")
{
    Turn turn;
    turn.add();
    turn.add();
    turn.link.end_turn();
    turn.link.reply("*2\r\n:1\r\n:2\r\n");
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->result == Result::invalid);
    }
}
