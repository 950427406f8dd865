#include "catch.h"

#include <string>
#include <vector>

#include "store/limit_batch.h"
#include "store_replies.h"

using namespace petstore;
using store::LimitBatch;
using store::Limiter;
using Result = store::Limiter::Answer::Result;

namespace {

class Link final : public store::TurnLink {
public:
    void send(const resp::Command& command,
              store::ReplyHandler& handler) noexcept override
    {
        if (away) {
            handler.on_loss(store::Loss::not_sent);
            return;
        }
        sent.push_back(words(command));
        handlers.push_back(&handler);
    }

    void defer(store::Deferred& deferred) noexcept override
    {
        waiting.push_back(&deferred);
    }

    std::uint64_t session() const noexcept override { return 1; }

    void end_turn()
    {
        for (auto* deferred : std::exchange(waiting, {})) {
            deferred->emit();
        }
    }

    void answer(const std::string& resp)
    {
        auto* handler = handlers.front();
        handlers.erase(handlers.begin());
        Replies replies;
        handler->on_reply(replies(resp));
    }

    bool away = false;
    std::vector<std::vector<std::string>> sent;
    std::vector<store::ReplyHandler*> handlers;
    std::vector<store::Deferred*> waiting;
};

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

struct Turn {
    Turn() : key(std::make_shared<store::CachedKey>())
    {
        key->account = std::make_shared<store::Account>("acc");
        key->limits = {60, 1000};
        key->epoch = "7";
    }

    void add(bool tell_time = false)
    {
        waiters.push_back(std::make_unique<Waiter>());
        LimitBatch::add(link, limiter, key, tell_time, *waiters.back());
    }

    const store::Schema schema{"petstore"};
    const Limiter limiter{schema};
    Link link;
    std::shared_ptr<store::CachedKey> key;
    std::vector<std::unique_ptr<Waiter>> waiters;
};

std::string decided(long long admitted, long long used)
{
    return array({integer(admitted), integer(used), integer(used),
                  integer(60'000), integer(86'400'000), integer(5), integer(0),
                  integer(0), integer(0)});
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
    CHECK(question[question.size() - 2] == "5");
    CHECK(question.back() == "1");  // one of them wants to know the time

    // Three are admitted, the first ones, each with a number of its own.
    turn.link.answer(decided(3, 60));
    for (int i = 0; i < 5; ++i) {
        const auto& waiter = *turn.waiters[static_cast<std::size_t>(i)];
        CHECK(waiter.told == 1);
        CHECK(waiter.calls == 1);
        CHECK(waiter.admitted == (i < 3));
        CHECK(waiter.remaining == (i < 3 ? 2 - i : 0));
    }
}

TEST_CASE("the next turn asks anew", "[store]")
{
    Turn turn;
    turn.add();
    turn.link.end_turn();
    turn.add();
    turn.link.end_turn();
    REQUIRE(turn.link.sent.size() == 2);
    turn.link.answer(decided(1, 1));
    CHECK(turn.waiters[0]->calls == 1);
    CHECK(turn.waiters[1]->calls == 0);
    turn.link.answer(decided(1, 2));
    CHECK(turn.waiters[1]->remaining == 58);
}

TEST_CASE("a question is put again with the script, once", "[store]")
{
    Turn turn;
    turn.add();
    turn.add();
    turn.link.end_turn();
    turn.link.answer("-NOSCRIPT No matching script\r\n");
    REQUIRE(turn.link.sent.size() == 2);
    CHECK(turn.link.sent[1][0] == "EVAL");
    CHECK(turn.waiters[0]->calls == 0);
    turn.link.answer("-NOSCRIPT still not\r\n");
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
    turn.link.away = true;
    turn.add();
    turn.add();
    turn.link.end_turn();
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->told == 0);
        CHECK(waiter->losses == 1);
        CHECK(waiter->loss == store::Loss::not_sent);
    }
    // The key is not left with a question that is gone.
    turn.link.away = false;
    turn.add();
    turn.link.end_turn();
    CHECK(turn.link.sent.size() == 1);
    turn.link.answer(decided(1, 1));
    CHECK(turn.waiters[2]->admitted);
}

TEST_CASE("an answer that is none reaches everybody", "[store]")
{
    Turn turn;
    turn.add();
    turn.add();
    turn.link.end_turn();
    turn.link.answer("*2\r\n:1\r\n:2\r\n");
    for (const auto& waiter : turn.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->result == Result::invalid);
    }
}
