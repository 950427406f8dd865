#include "catch.h"

#include <optional>
#include <string>

#include "done_waiter.h"
#include "fake_http.h"
#include "store/accounts/redis_clock.h"

using namespace petstore;
using store::Expiry;
using store::RedisClock;

namespace {

constexpr api::Millis kHour = 3'600'000;

// A Cluster: the first letter of an account names its primary.
struct Fixture {
    Fixture()
    {
        link.cluster = true;
        link.group = [](std::string_view account) {
            return static_cast<std::size_t>(account[0] - 'a');
        };
        redis_clock.emplace(link, schema, clock);
    }

    // A key that ends in ten minutes, by this host's clock.
    store::Ref<store::CachedKey> key(const std::string& account)
    {
        api::KeyRecord record;
        record.id = "k";
        record.expires = clock.host / 1000 + 600;
        auto key = store::make_ref<store::CachedKey>();
        key->record = store::CachedRecord(record, {}, "free");
        key->account = accounts.get(account);
        return key;
    }

    FakeLink link;
    FakeClock clock;
    const store::Schema schema{"petstore"};
    store::AccountIndex accounts;
    std::optional<RedisClock> redis_clock;
};

}  // namespace

TEST_CASE("a clock that is not known is asked for", "[store]")
{
    Fixture f;
    const auto key = f.key("a1");
    CHECK(f.redis_clock->expiry(*key) == Expiry::unconfirmed);
    CHECK(f.redis_clock->now() == f.clock.host / 1000);

    DoneWaiter waiter;
    f.redis_clock->ask(*key, waiter);
    REQUIRE(f.link.commands.size() == 1);
    CHECK(f.link.commands[0][3] == "petstore:{a1}:state");
    f.link.reply(array({bulk(std::to_string(f.clock.host / 1000)), bulk("7")}));
    CHECK(waiter.calls == 1);
    CHECK_FALSE(waiter.failed);
    CHECK(f.redis_clock->expiry(*key) == Expiry::valid);
}

TEST_CASE("a reading refuses for a second from its command", "[store]")
{
    Fixture f;
    const auto key = f.key("a1");
    const auto sent = f.clock.now - 300;
    f.redis_clock->set(*key, f.clock.host + kHour, sent);
    CHECK(f.redis_clock->expiry(*key) == Expiry::expired);
    CHECK(f.redis_clock->confirmed_until(*key)
          == sent + RedisClock::kConfirmedFor);
    f.clock.advance(699);
    CHECK(f.redis_clock->expiry(*key) == Expiry::expired);
    f.clock.advance(1);
    CHECK(f.redis_clock->expiry(*key) == Expiry::unconfirmed);
}

TEST_CASE("a step of the host's clock ends no key", "[store]")
{
    Fixture f;
    const auto key = f.key("a1");
    f.redis_clock->set(*key, f.clock.host, f.clock.now);
    const auto step = GENERATE(kHour, -kHour);
    f.clock.host += step;
    CHECK(f.redis_clock->expiry(*key) == Expiry::valid);
    CHECK(f.redis_clock->now() == (f.clock.host - step) / 1000);
    f.clock.advance(600'000);
    CHECK(f.redis_clock->expiry(*key) == Expiry::unconfirmed);
}

TEST_CASE("each primary of a Cluster has its own clock", "[store]")
{
    Fixture f;
    const auto ahead = f.key("a1");
    const auto right = f.key("b1");
    f.redis_clock->set(*ahead, f.clock.host + kHour, f.clock.now);
    CHECK(f.redis_clock->expiry(*ahead) == Expiry::expired);
    CHECK(f.redis_clock->expiry(*right) == Expiry::unconfirmed);
    f.redis_clock->set(*right, f.clock.host, f.clock.now);
    CHECK(f.redis_clock->expiry(*ahead) == Expiry::expired);
    CHECK(f.redis_clock->expiry(*right) == Expiry::valid);

    // Both are asked at the same time, each once.
    f.clock.advance(2'000);
    DoneWaiter waiters[3];
    f.redis_clock->ask(*ahead, waiters[0]);
    f.redis_clock->ask(*right, waiters[1]);
    f.redis_clock->ask(*f.key("a2"), waiters[2]);
    CHECK(f.link.commands.size() == 2);
    f.link.reply("-CLUSTERDOWN x\r\n");
    CHECK(waiters[0].failed);
    CHECK(waiters[1].calls == 0);
    CHECK(waiters[2].failed);
    f.link.reply(array({bulk("1700000002"), bulk("0")}));
    CHECK(waiters[1].calls == 1);
}

TEST_CASE("a key without an end needs no clock", "[store]")
{
    Fixture f;
    auto key = f.key("a1");
    key->record.expires.reset();
    CHECK(f.redis_clock->expiry(*key) == Expiry::valid);
}
