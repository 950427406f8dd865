#include "catch.h"

#include <string>
#include <vector>

#include "cached_key.h"
#include "fake_link.h"
#include "limit_waiter.h"
#include "store/accounts/account_state.h"
#include "store/accounts/limit_queue.h"

using namespace petstore;
using redis::NoReply;
using Kind = store::LimitAnswer::Kind;

namespace {

constexpr std::int64_t kEpoch = 7;

struct Fixture {
    store::Ref<store::CachedKey> make_key(const std::string& account)
    {
        return ::make_key(cache, account, kEpoch);
    }

    void add(bool fresh = false) { add(key, fresh); }

    void add(const store::Ref<store::CachedKey>& of, bool fresh = false,
             std::int64_t cost = 1)
    {
        waiters.push_back(std::make_unique<Waiter>());
        queue.add(of, cost, {fresh}, waiters.back()->asker());
    }

    const store::Schema schema{"petstore"};
    const store::LimitCommands limiter{schema};
    FakeLink link;
    store::KeyCache cache{1 << 20};
    RecordedDamage damage;
    RecordedLimitLog log;
    store::LimitQueue queue{link, link, limiter, damage, log};
    store::Ref<store::CachedKey> key = make_key("acc");
    std::vector<std::unique_ptr<Waiter>> waiters;
};

std::string asked(std::int64_t requests, bool fresh = false)
{
    return ::asked({{kEpoch, 60, 1000, requests, fresh ? '\1' : '\0'}});
}

struct Verdict {
    long long admitted;
    long long used;
    std::int64_t epoch = kEpoch;
};

std::string decided(const std::vector<Verdict>& verdicts)
{
    std::vector<std::string> items;
    for (const auto& [admitted, used, epoch] : verdicts) {
        items.push_back(
            answer(admitted, bulk(encode_state({epoch, 0, used, 60'000, used,
                                                86'400'000, used}))));
    }
    return limit_reply(items, stamp(5));
}

std::string decided(long long admitted, long long used)
{
    return decided({{admitted, used}});
}

}  // namespace

TEST_CASE("in a Cluster, accounts of each server have a command", "[store]")
{
    const store::Schema schema{"petstore"};
    const store::LimitCommands limiter{
        schema, store::LimitCommands::Catalogue::elsewhere,
        store::LimitCommands::Accounts::cluster};
    FakeLink link;
    link.group = [](std::string_view account) {
        return static_cast<std::size_t>(account.front());
    };
    store::KeyCache cache{1 << 20};
    RecordedDamage damage;
    RecordedLimitLog log;
    store::LimitQueue queue{link, link, limiter, damage, log};
    const auto one = make_key(cache, "one", kEpoch);
    const auto two = make_key(cache, "two", kEpoch);
    Waiter waiters[4];
    queue.add(one, 1, {}, waiters[0].asker());
    queue.add(two, 1, {}, waiters[1].asker());
    queue.add(one, 1, {}, waiters[2].asker());
    queue.add(two, 1, {false, true}, waiters[3].asker());
    link.end_iteration();
    REQUIRE(link.sent.size() == 2);
    CHECK(link.sent[0][3] == "petstore:{one}:state");
    // In a Cluster, the script cannot read the marker, and this account needs
    // it.
    CHECK(link.sent[0].back() == ::asked({{kEpoch, 60, 1000, 2, 2}}));
    CHECK(link.sent[1][3] == "petstore:{two}:state");
    CHECK(link.sent[1].back() == ::asked({{kEpoch, 60, 1000, 2, 3}}));
    link.reply(limit_reply({answer(-4, bulk(""))}, stamp(1)));
    CHECK(waiters[0].kind == Kind::unplaced);
    CHECK(waiters[2].kind == Kind::unplaced);
    CHECK(waiters[1].calls == 0);
    link.lose(NoReply::in_doubt);
}

TEST_CASE("all requests of an iteration travel in one command", "[store]")
{
    Fixture f;
    for (int i = 0; i < 5; ++i) {
        f.add();
    }
    CHECK(f.link.sent.empty());
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 1);
    const auto& command = f.link.sent.front();
    CHECK(command[0] == "EVALSHA");
    CHECK(command[2] == "3");
    CHECK(command.back() == asked(5));

    // The first three are admitted, each with a different number.
    f.link.reply(decided(3, 60));
    for (int i = 0; i < 5; ++i) {
        const auto& waiter = *f.waiters[static_cast<std::size_t>(i)];
        CHECK(waiter.sent == 1);
        CHECK(waiter.calls == 1);
        CHECK(waiter.admitted == (i < 3));
        CHECK(waiter.remaining == (i < 3 ? 2 - i : 0));
    }
}

TEST_CASE("one request that needs the version adds it to the command",
          "[store]")
{
    Fixture f;
    Waiter guarded;
    Waiter reading;
    const auto add = [&](Waiter& waiter, bool needs_version) {
        f.queue.add(f.key, 1, {}, {waiter, waiter, needs_version});
    };
    add(guarded, false);
    f.link.end_iteration();
    add(guarded, false);
    add(reading, true);
    add(guarded, false);
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[0][2] == "1");
    CHECK(f.link.sent[0].back() == asked(1));
    CHECK(f.link.sent[1][2] == "3");
    CHECK(f.link.sent[1].back() == asked(3));
    f.link.lose(NoReply::in_doubt);
}

TEST_CASE("all accounts of an iteration travel in one command", "[store]")
{
    Fixture f;
    const auto other = f.make_key("other");
    f.add();
    f.add(other);
    f.add();
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 1);
    const auto& command = f.link.sent.front();
    REQUIRE(command.size() == 8);
    CHECK(command[2] == "4");
    CHECK(command[3] == "petstore:{acc}:state");
    CHECK(command[4] == "petstore:{other}:state");
    CHECK(command[7]
          == ::asked({{kEpoch, 60, 1000, 2, 0}, {kEpoch, 60, 1000, 1, 0}}));

    f.link.reply(decided({{1, 60}, {-1, 0, 9}}));
    CHECK(f.waiters[0]->admitted);
    CHECK(f.waiters[1]->kind == Kind::stale);
    CHECK(f.waiters[2]->kind == Kind::decided);
    CHECK_FALSE(f.waiters[2]->admitted);
}

// The script reads all accounts before it charges any.
TEST_CASE("no command names an account twice", "[store]")
{
    Fixture f;
    for (const std::int64_t cost : {1, 2, 2, 1}) {
        f.add(f.key, false, cost);
    }
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 2);
    for (const std::int64_t cost : {1, 2}) {
        const auto& command = f.link.sent[static_cast<std::size_t>(cost - 1)];
        CHECK(command[2] == "3");
        CHECK(command[3] == "petstore:{acc}:state");
        CHECK(command.back() == ::asked({{kEpoch, 60, 1000, 2, 0, cost}}));
    }
    f.link.reply(decided(2, 2));
    f.link.reply(decided(2, 6));
    // In command order: the requests of cost 1 come first.
    const std::vector<std::int64_t> remaining = {59, 56, 54, 58};
    for (std::size_t i = 0; i < remaining.size(); ++i) {
        CHECK(f.waiters[i]->calls == 1);
        CHECK(f.waiters[i]->remaining == remaining[i]);
    }
}

// As different records of one account have.
TEST_CASE("requests with other limits or another epoch have a command",
          "[store]")
{
    Fixture f;
    const auto month = f.make_key("acc");
    month->limits.month = 5000;
    const auto newer = f.make_key("acc");
    newer->epoch = kEpoch + 1;
    for (int i = 0; i < 2; ++i) {
        f.add();
        f.add(month);
        f.add(newer);
    }
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 3);
    CHECK(f.link.sent[0].back() == asked(2));
    CHECK(f.link.sent[1].back()
          == ::asked({{kEpoch, 60, 1000, 2, 0, 1, 5000}}));
    CHECK(f.link.sent[2].back() == ::asked({{kEpoch + 1, 60, 1000, 2, 0}}));
}

TEST_CASE("keys of an account with the same limits share a command", "[store]")
{
    Fixture f;
    const auto second = f.make_key("acc");
    const auto other = f.make_key("other");
    for (int i = 0; i < 500; ++i) {
        f.add(i % 2 == 0 ? f.key : second);
        f.add(other);
    }
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 1);
    f.link.reply(decided({{500, 500}, {500, 500}}));
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->admitted);
    }
}

TEST_CASE("alternating costs of accounts need one command per cost", "[store]")
{
    Fixture f;
    const auto other = f.make_key("other");
    for (int i = 0; i < 500; ++i) {
        f.add(f.key, false, 1 + i % 2);
        f.add(other, false, 1 + i % 2);
    }
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 2);
    f.link.reply(decided({{250, 250}, {250, 250}}));
    f.link.reply(decided({{250, 750}, {250, 750}}));
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->admitted);
    }
}

TEST_CASE("an account whose usage cannot be written is asked about alone",
          "[store]")
{
    Fixture f;
    const auto other = f.make_key("other");
    f.add();
    f.add(other);
    f.add();
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 1);
    f.link.reply(limit_reply(
        {answer(-5, bulk("")),
         answer(1,
                bulk(encode_state({kEpoch, 0, 1, 60'000, 1, 86'400'000, 1})))},
        stamp(5)));
    CHECK(f.waiters[1]->admitted);
    CHECK(f.waiters[0]->calls == 0);
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[1][3] == "petstore:{acc}:state");
    CHECK(f.link.sent[1].back() == asked(2));
    SECTION("and then reports the error")
    {
        f.link.reply("-DAMAGED petstore:{acc}:usage:203012\r\n");
        CHECK(f.damage.keys
              == std::vector<std::string>{"petstore:{acc}:usage:203012"});
        CHECK(f.waiters[0]->failure->error.code
              == api::ErrorCode::internal_error);
    }
    SECTION("or is decided on")
    {
        f.link.reply(decided(2, 2));
        CHECK(f.waiters[2]->admitted);
    }
    CHECK(f.waiters[0]->calls == 1);
    CHECK(f.waiters[2]->calls == 1);
    CHECK(f.link.sent.size() == 2);
}

TEST_CASE("a scheduler that runs tasks at once sends each request alone",
          "[store]")
{
    Fixture f;
    f.link.defers = false;
    f.add();
    f.add();
    REQUIRE(f.link.sent.size() == 2);
    f.link.reply(decided(1, 1));
    f.link.reply(decided(1, 2));
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->sent == 1);
        CHECK(waiter->calls == 1);
        CHECK(waiter->admitted);
    }
}

TEST_CASE("many accounts are divided into several commands", "[store]")
{
    Fixture f;
    std::vector<store::Ref<store::CachedKey>> keys;
    for (int i = 0; i < 300; ++i) {
        keys.push_back(f.make_key("a" + std::to_string(i)));
        f.add(keys.back());
    }
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 3);
    std::size_t accounts = 0;
    for (const auto& command : f.link.sent) {
        const auto here = command.size() - 6;
        CHECK(here <= 128);
        accounts += here;
        f.link.reply(decided(std::vector<Verdict>(here, {1, 1})));
    }
    CHECK(accounts == 300);
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->admitted);
    }
}

TEST_CASE("a new account takes the epoch that Redis replies", "[store]")
{
    Fixture f;
    f.key->epoch = 0;
    f.add(true);
    f.link.end_iteration();
    f.link.reply(decided({{1, 1, 99}}));
    CHECK(f.waiters[0]->admitted);
    CHECK(f.key->epoch == 99);
}

TEST_CASE("the next iteration has its own command", "[store]")
{
    Fixture f;
    f.add();
    f.link.end_iteration();
    f.add();
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 2);
    f.link.reply(decided(1, 1));
    CHECK(f.waiters[0]->calls == 1);
    CHECK(f.waiters[1]->calls == 0);
    f.link.reply(decided(1, 2));
    CHECK(f.waiters[1]->remaining == 58);
}

TEST_CASE("after NOSCRIPT a command is sent again with the script's text",
          "[store]")
{
    Fixture f;
    f.add();
    f.add();
    f.link.end_iteration();
    for (std::size_t times = 1; times <= 2; ++times) {
        f.link.reply("-NOSCRIPT No matching script\r\n");
        REQUIRE(f.link.sent.size() == 1 + times);
        CHECK(f.link.sent[times][0] == "EVAL");
        CHECK(f.waiters[0]->calls == 0);
    }
    f.link.reply("-NOSCRIPT still not\r\n");
    CHECK(f.link.sent.size() == 3);
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->sent == 1);
        CHECK(waiter->failed(false));
    }
}

TEST_CASE("a lost reply fails every waiter and nothing is resent", "[store]")
{
    Fixture f;
    f.add();
    f.add();
    f.link.end_iteration();
    REQUIRE(f.link.handlers.size() == 1);
    f.link.lose(NoReply::in_doubt);
    CHECK(f.link.sent.size() == 1);
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->failed(true));
    }
}

TEST_CASE("a command that cannot be sent fails every waiter", "[store]")
{
    Fixture f;
    f.link.full = true;
    f.add();
    f.add();
    f.link.end_iteration();
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->sent == 0);
        CHECK(waiter->calls == 1);
        CHECK(waiter->failed(false));
    }
    // The key does not keep the failed batch.
    f.link.full = false;
    f.add();
    f.link.end_iteration();
    CHECK(f.link.sent.size() == 1);
    f.link.reply(decided(1, 1));
    CHECK(f.waiters[2]->admitted);
}

TEST_CASE("a malformed reply fails every waiter", "[store]")
{
    Fixture f;
    f.add();
    f.add();
    f.link.end_iteration();
    f.link.reply("*2\r\n:1\r\n:2\r\n");
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->not_counted());
    }
}

TEST_CASE("the script's text that cannot be sent fails every waiter once",
          "[store]")
{
    Fixture f;
    f.add();
    f.add();
    f.link.end_iteration();
    f.link.full = true;
    f.link.reply("-NOSCRIPT No matching script\r\n");
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->sent == 1);
        CHECK(waiter->failed(false));
    }
    CHECK(f.link.sent.size() == 1);
}

TEST_CASE("an error of Redis fails every waiter", "[store]")
{
    Fixture f;
    const auto other = f.make_key("other");
    f.add();
    f.add(other);
    f.link.end_iteration();
    f.link.reply("-LOADING x\r\n");
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->failed(false));
    }
    CHECK(f.link.sent.size() == 1);
}

TEST_CASE("after another connection each record is read again", "[store]")
{
    // Redis may have lost the epoch that announced a change of the record.
    Fixture f;
    ++f.link.generation;
    f.add();
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 1);
    CHECK(f.link.sent.front().back() == ::asked({{0, 60, 1000, 1, '\0'}}));
}

TEST_CASE("a record that was just read shares no call with an old one",
          "[store]")
{
    // Only the new one may give an account without a state its epoch.
    Fixture f;
    f.add(true);
    f.add(false);
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[0].back() == asked(1, true));
    CHECK(f.link.sent[1].back() == asked(1));
}

TEST_CASE("a limiter on another Redis batches accounts without a version",
          "[store]")
{
    Fixture f;
    const store::LimitCommands limiter{
        f.schema, store::LimitCommands::Catalogue::elsewhere};
    store::LimitQueue queue{f.link, f.link, limiter, f.damage, f.log};
    const auto key = f.make_key("lonely");
    Waiter first;
    Waiter second;
    queue.add(key, 1, {}, first.asker());
    queue.add(key, 1, {}, second.asker());
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 1);
    const auto& command = f.link.sent.front();
    REQUIRE(command.size() == 5);
    CHECK(command[2] == "1");
    CHECK(command[3] == "petstore:{lonely}:state");
    CHECK(command[4] == asked(2));
    f.link.reply(decided(1, 60));
    CHECK(first.admitted);
    CHECK(first.remaining == 0);
    CHECK(second.calls == 1);
    CHECK_FALSE(second.admitted);
}
