// The limiter's queue in a Cluster: one command per server, and recovery from
// an outdated slot map.
#include "catch.h"

#include <memory>
#include <string>
#include <vector>

#include "cached_key.h"
#include "fake_link.h"
#include "limit_waiter.h"
#include "store/accounts/limit_queue.h"
#include "store/scripts.h"

using namespace petstore;
using redis::NoReply;
using Words = FakeLink::Words;

namespace {

constexpr std::int64_t kEpoch = 7;
constexpr long long kForeign = -5;

// Accounts whose ids begin with the same letter are on one server.
struct Fixture {
    Fixture()
    {
        link.group = [](std::string_view key) {
            return static_cast<std::size_t>(key.front());
        };
    }

    Waiter& add(const std::string& account)
    {
        for (const auto& key : keys) {
            if (key->account->id() == account) {
                return add(key);
            }
        }
        keys.push_back(make_key(cache, account, kEpoch));
        keys.back()->generation = static_cast<std::uint32_t>(link.generation);
        return add(keys.back());
    }

    Waiter& add(const store::Ref<store::CachedKey>& key)
    {
        waiters.push_back(std::make_unique<Waiter>());
        queue.add(key, 1, {}, waiters.back()->asker());
        return *waiters.back();
    }

    // Sends a command for a1 and a2 and replies with `error`.
    void ask_two_singly(std::string_view error);

    const store::Schema schema{"petstore"};
    const store::LimitCommands limiter{
        schema, store::LimitCommands::Catalogue::elsewhere,
        store::LimitCommands::Accounts::cluster};
    FakeLink link;
    store::KeyCache cache{1 << 20};
    RecordedDamage damage;
    RecordedLimitLog log;
    store::LimitQueue queue{link, link, limiter, damage, log};
    std::vector<store::Ref<store::CachedKey>> keys;
    std::vector<std::unique_ptr<Waiter>> waiters;
};

std::string state(const std::string& account)
{
    return "petstore:{" + account + "}:state";
}

std::string asked(const std::vector<std::int64_t>& requests)
{
    std::vector<Asked> accounts;
    for (const auto count : requests) {
        accounts.push_back({kEpoch, 60, 1000, count, 2});
    }
    return ::asked(accounts);
}

// A script's reply with the number of admitted requests of each account.
std::string decided(const std::vector<long long>& admitted)
{
    std::vector<std::string> items;
    for (const auto count : admitted) {
        items.push_back(answer(
            count, count < 0 ? bulk("")
                             : bulk(encode_state({kEpoch, 0, count, 60'000,
                                                  count, 86'400'000, count}))));
    }
    return limit_reply(items, stamp(5));
}

Words alone(const std::string& account, std::int64_t requests)
{
    return {"EVALSHA", store::scripts().limit.sha1, "1", state(account),
            asked({requests})};
}

void Fixture::ask_two_singly(std::string_view error)
{
    const auto& a1 = add("a1");
    const auto& a2 = add("a2");
    link.end_iteration();
    REQUIRE(link.sent.size() == 1);
    Replies replies;
    CHECK(link.handlers.front()->reports(replies(error)));
    link.reply(error);
    CHECK(a1.calls == 0);
    CHECK(a2.calls == 0);
    REQUIRE(link.sent.size() == 3);
    CHECK(link.sent[1] == alone("a1", 1));
    CHECK(link.sent[2] == alone("a2", 1));
}

}  // namespace

TEST_CASE("accounts of one server of a Cluster share a command", "[store]")
{
    Fixture f;
    auto& a1 = f.add("a1");
    auto& b1 = f.add("b1");
    auto& a2 = f.add("a2");
    f.add("a1");
    f.link.end_iteration();

    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[0]
          == Words{"EVALSHA", store::scripts().limit_across_slots.sha1, "1",
                   state("a1"), asked({2, 1}), state("a2")});
    CHECK(f.link.sent[1] == alone("b1", 1));
    f.link.reply(decided({1, 1}));
    f.link.reply(decided({1}));
    CHECK(a1.admitted);
    CHECK(a2.admitted);
    CHECK(b1.admitted);
    CHECK(f.waiters[3]->calls == 1);
    CHECK_FALSE(f.waiters[3]->admitted);  // the second request of a1
    CHECK(a1.sent == 1);
}

TEST_CASE("an account on another server is asked for separately", "[store]")
{
    Fixture f;
    auto& a1 = f.add("a1");
    auto& first = f.add("a2");
    auto& second = f.add("a2");
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 1);

    f.link.reply(decided({1, kForeign}));
    CHECK(a1.admitted);
    CHECK(first.calls == 0);
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[1] == alone("a2", 2));

    f.link.reply(decided({1}));
    CHECK(first.calls == 1);
    CHECK(first.admitted);
    CHECK(second.calls == 1);
    CHECK_FALSE(second.admitted);
    CHECK(first.sent == 1);  // notified of the first command only
    CHECK(f.link.sent.size() == 2);
}

TEST_CASE("the command for a moved account may fail in every way", "[store]")
{
    Fixture f;
    f.add("a1");
    auto& moved = f.add("a2");
    f.link.end_iteration();
    f.link.reply(decided({1, kForeign}));

    SECTION("an error")
    {
        f.link.reply("-CLUSTERDOWN The cluster is down\r\n");
        CHECK(moved.failed(false));
    }
    SECTION("no reply")
    {
        f.link.lose(NoReply::in_doubt);
        CHECK(moved.failed(true));
    }
    SECTION("the same once more, which no server replies")
    {
        f.link.reply(decided({kForeign}));
        CHECK(moved.not_counted());
        CHECK(f.log.unexpected == 1);
        CHECK_FALSE(moved.admitted);
    }
    CHECK(moved.calls == 1);
    CHECK(f.link.sent.size() == 2);
}

TEST_CASE("the command for a moved account may not be sent", "[store]")
{
    Fixture f;
    f.add("a1");
    auto& moved = f.add("a2");
    f.link.end_iteration();
    f.link.full = true;
    f.link.reply(decided({1, kForeign}));
    CHECK(moved.calls == 1);
    CHECK(moved.failed(false));
}

TEST_CASE(
    "a server that refuses scripts across slots is asked for single accounts",
    "[store]")
{
    Fixture f;
    f.ask_two_singly(
        "-ERR Unexpected flag in script shebang: allow-cross-slot-keys\r\n");
    f.link.reply(decided({1}));
    f.link.reply(decided({0}));
    CHECK(f.waiters[0]->admitted);
    CHECK(f.waiters[1]->calls == 1);
    CHECK_FALSE(f.waiters[1]->admitted);

    f.add("a1");
    f.add("a2");
    f.add("a2");
    f.link.end_iteration();
    REQUIRE(f.link.sent.size() == 5);  // singly at once
    CHECK(f.link.sent[3] == alone("a1", 1));
    CHECK(f.link.sent[4] == alone("a2", 2));
    f.link.reply(decided({1}));
    f.link.reply(decided({2}));
    CHECK(f.waiters[4]->admitted);
}

TEST_CASE("accounts are asked for separately while the slot of one moves",
          "[store]")
{
    Fixture f;
    f.ask_two_singly("-ASK 12182 127.0.0.1:7001\r\n");
    f.link.reply(decided({1}));
    f.link.reply("-ASK 12182 127.0.0.1:7001\r\n");  // not followed
    CHECK(f.waiters[0]->admitted);
    CHECK(f.waiters[1]->failed(false));

    // Later requests share a command again.
    f.add("a1");
    f.add("a2");
    f.link.end_iteration();
    CHECK(f.link.sent.size() == 4);
}

TEST_CASE("an error of a command across slots fails all its accounts",
          "[store]")
{
    Fixture f;
    f.add("a1");
    f.add("a2");
    f.link.end_iteration();
    f.link.reply("-OOM command not allowed\r\n");
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
        CHECK(waiter->failed(false));
    }
    CHECK(f.link.sent.size() == 1);
}
