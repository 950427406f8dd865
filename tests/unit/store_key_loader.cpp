#include "catch.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/text.h"
#include "fake_link.h"
#include "still.h"
#include "store/keys/key_loader.h"

using namespace petstore;
using redis::NoReply;
using store::KeyLoader;
using Key = store::Ref<store::CachedKey>;

namespace {

struct Log final : store::KeyLog {
    void damaged(std::string_view redis_key) noexcept override
    {
        damaged_key = redis_key;
    }
    void unknown_plan(std::string_view, std::string_view name) noexcept override
    {
        plan = name;
    }
    void not_upgraded(std::string_view account) noexcept override
    {
        without_record = account;
    }
    void report(store::Event event) noexcept override
    {
        refused += event == store::Event::lookup_refused;
    }

    std::string damaged_key;
    std::string without_record;
    int refused = 0;
    std::string plan;
};

struct Waiter final : store::Waiter<Key> {
    void on_result(const store::Outcome<Key>& outcome) noexcept override
    {
        ++calls;
        if (outcome.failed()) {
            error = outcome.failure()->error;
        } else {
            key = outcome.value();
        }
        if (loader != nullptr) {
            std::exchange(loader, nullptr)->load(digest, {}, *next);
        }
    }

    int calls = 0;
    Key key;
    std::optional<api::Error> error;

    // Loads again in the callback.
    KeyLoader* loader = nullptr;
    api::Digest digest{};
    Waiter* next = nullptr;
};

api::Digest digest_of(int i)
{
    return api::sha256(std::to_string(i));
}

std::string record(const std::string& account, std::int64_t epoch,
                   const std::string& plan = "pro")
{
    return array({bulk("id"), bulk("k"), bulk("account"), bulk(account),
                  bulk("plan"), bulk(plan), bulk("epoch"),
                  bulk(std::to_string(epoch))});
}

std::string account(const std::string& id,
                    const std::vector<std::string>& more = {})
{
    std::vector<std::string> items = {bulk("id"), bulk(id), bulk("created"),
                                      bulk("1")};
    for (const auto& each : more) {
        items.push_back(bulk(each));
    }
    return array(items);
}

struct Fixture {
    const store::Schema schema{"petstore"};
    const api::PlanTable configured;
    const FixedClock clock;
    FakeLink link;
    store::KeyCache cache{1 << 20};
    Log log;
    store::PlansInForce plans{link, schema, clock, configured, log, log};
    KeyLoader loader{{link, link}, schema, plans, cache, log};

    // The replies to the oldest lookup, if no other one is in flight.
    void reply(const std::string& id, std::int64_t epoch)
    {
        link.reply(record(id, epoch));
        link.reply(account(id));
    }
    // The name of the Redis key that was read last.
    std::string read() const { return link.sent.back()[1]; }
};

}  // namespace

TEST_CASE("requests for one key share one lookup and its record", "[store]")
{
    Fixture f;
    std::vector<Waiter> waiters(100);
    for (auto& waiter : waiters) {
        f.loader.load(digest_of(1), {}, waiter);
    }
    REQUIRE(f.link.sent.size() == 1);
    CHECK(f.link.sent[0].front() == "HGETALL");
    f.link.reply(record("a", 5));
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[1] == FakeLink::Words{"HGETALL", "petstore:account:a"});
    CHECK(waiters[0].calls == 0);
    f.link.reply(account("a"));
    const auto cached = f.cache.find(digest_of(1));
    REQUIRE(cached);
    CHECK(cached->epoch == 5);
    CHECK(cached->limits.minute == 300);
    for (const auto& waiter : waiters) {
        CHECK(waiter.calls == 1);
        CHECK(waiter.key == cached);
    }
}

TEST_CASE("a lookup sent before the account's epoch changed is not joined",
          "[store]")
{
    Fixture f;
    Waiter early;
    Waiter stale;
    Waiter later;
    f.loader.load(digest_of(1), {}, early);
    f.loader.load(digest_of(1), {9}, stale);
    f.loader.load(digest_of(1), {7}, later);  // joins the second
    REQUIRE(f.link.sent.size() == 2);
    f.link.reply(record("a", 5));
    f.link.reply(account("a"), 1);
    CHECK(early.key->epoch == 5);
    CHECK(stale.calls == 0);
    f.reply("a", 8);
    // The account was at epoch 9 before the record was read.
    CHECK(stale.key->epoch == 9);
    CHECK(later.key == stale.key);
    CHECK(f.cache.find(digest_of(1)) == stale.key);
}

TEST_CASE("a record read while its account's Redis changed is outdated",
          "[store]")
{
    Fixture f;
    const auto generation = static_cast<std::uint32_t>(f.link.generation);
    Waiter unknown;
    Waiter known;
    SECTION("the account is unknown")
    {
        f.loader.load(digest_of(1), {}, unknown);
        ++f.link.generation;
        f.reply("a", 5);
        CHECK(unknown.key->generation == generation);
    }
    SECTION("the account is known")
    {
        f.loader.load(digest_of(1), {9, "a"}, known);
        ++f.link.generation;
        f.reply("a", 9);
        CHECK(known.key->generation == generation);
    }
    SECTION("it has another account now")
    {
        f.loader.load(digest_of(1), {9, "b"}, known);
        f.reply("a", 9);
        CHECK(known.key->generation != generation);
    }
}

TEST_CASE("lookups leave room for requests whose key is known", "[store]")
{
    Fixture f;
    const int most = static_cast<int>(KeyLoader::kMaxUnknown);
    std::vector<Waiter> waiters(KeyLoader::kMaxUnknown);
    for (int i = 0; i < most; ++i) {
        f.loader.load(digest_of(i), {}, waiters[static_cast<std::size_t>(i)]);
    }
    Waiter refused;
    f.loader.load(digest_of(most), {}, refused);
    CHECK(f.link.sent.size() == KeyLoader::kMaxUnknown);
    CHECK(refused.calls == 1);
    REQUIRE(refused.error);
    CHECK(refused.error->code == api::ErrorCode::service_unavailable);
    CHECK(f.log.refused == 1);

    const int all = static_cast<int>(KeyLoader::kMaxLoads);
    std::vector<Waiter> known(KeyLoader::kMaxLoads);
    for (int i = most; i < all; ++i) {
        Waiter& waiter = known[static_cast<std::size_t>(i)];
        f.loader.load(digest_of(i), {9, "a"}, waiter);
        CHECK(waiter.calls == 0);
    }
    CHECK(f.link.sent.size() == KeyLoader::kMaxLoads);
    f.loader.load(digest_of(all), {9, "a"}, refused);
    CHECK(refused.calls == 2);
    CHECK(f.log.refused == 2);

    // Joining one in flight costs nothing, and a reply makes room.
    Waiter joined;
    f.loader.load(digest_of(0), {}, joined);
    f.link.reply("*0\r\n");
    CHECK(joined.calls == 1);
    f.loader.load(digest_of(all), {}, refused);
    CHECK(refused.calls == 2);
    CHECK(f.link.sent.size() == KeyLoader::kMaxLoads + 1);
}

TEST_CASE("a missing record is not an error", "[store]")
{
    Fixture f;
    Waiter absent;
    f.loader.load(digest_of(1), {}, absent);
    f.link.reply("*0\r\n");
    CHECK(absent.calls == 1);
    CHECK_FALSE(absent.key);
    CHECK_FALSE(absent.error);
    CHECK(f.log.damaged_key.empty());
}

TEST_CASE("a damaged key record is an internal error and is logged", "[store]")
{
    Fixture f;
    Waiter damaged;
    f.loader.load(digest_of(2), {}, damaged);
    f.link.reply(GENERATE(as<std::string>{}, array({bulk("id"), bulk("k")}),
                          "-WRONGTYPE x\r\n"));
    CHECK(damaged.calls == 1);
    CHECK_FALSE(damaged.key);
    REQUIRE(damaged.error);
    CHECK(damaged.error->code == api::ErrorCode::internal_error);
    CHECK(f.log.damaged_key
          == "petstore:key:" + api::to_hex(api::bytes_of(digest_of(2))));
}

TEST_CASE("a failed lookup fails every waiter", "[store]")
{
    Fixture f;
    std::vector<Waiter> waiters(3);
    const bool account = GENERATE(false, true);
    const bool full = GENERATE(false, true);
    f.link.full = full && !account;
    for (auto& waiter : waiters) {
        f.loader.load(digest_of(1), {}, waiter);
    }
    if (account) {
        f.link.full = full;
        f.link.reply(record("a", 5));
    }
    if (!f.link.full) {
        if (GENERATE(false, true)) {
            f.link.reply("-LOADING x\r\n");
        } else {
            f.link.lose(NoReply::in_doubt);
        }
    }
    for (const auto& waiter : waiters) {
        CHECK(waiter.calls == 1);
        REQUIRE(waiter.error);
        CHECK(waiter.error->code == api::ErrorCode::service_unavailable);
    }
}

TEST_CASE("a waiter may look up the same key again", "[store]")
{
    Fixture f;
    Waiter first;
    Waiter second;
    first.loader = &f.loader;
    first.digest = digest_of(1);
    first.next = &second;
    f.loader.load(digest_of(1), {}, first);
    f.reply("a", 5);
    REQUIRE(f.link.sent.size() == 3);
    f.reply("a", 6);
    CHECK(second.calls == 1);
    CHECK(second.key->epoch == 6);
}

TEST_CASE("an unknown plan is logged and limits as the free plan does",
          "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    SECTION("of the key")
    {
        f.link.reply(record("a", 5, "gold"));
        f.link.reply(account("a", {"plan", "pro"}));
    }
    SECTION("of the account")
    {
        f.link.reply(record("a", 5, ""));
        f.link.reply(account("a", {"plan", "gold"}));
    }
    CHECK(f.log.plan == "gold");
    CHECK(waiter.key->limits.minute == 60);
}

namespace {

const std::string kNoPlans = array({bulk("0"), array({})});
const std::string kGold =
    array({bulk("0"), array({bulk("gold"), bulk("777 9999")})});

// Two keys with a plan that was set just before they got it, while a read of
// the plans is on its way already.
struct NewPlan : Fixture {
    NewPlan()
    {
        link.plans.clear();
        plans.current();
        loader.load(digest_of(1), {}, first);
        loader.load(digest_of(2), {}, second);
        link.reply(record("a", 5, "gold"), 1);
        link.reply(record("b", 5, "gold"), 1);
        link.reply(account("a"), 1);
        link.reply(account("b"), 1);
        REQUIRE(link.commands.size() == 1);
    }

    // Each had one result, and nothing is left.
    void check_ended() const
    {
        CHECK(first.calls == 1);
        CHECK(second.calls == 1);
        CHECK(link.commands.empty());
    }
    void check_limit(int per_minute) const
    {
        check_ended();
        REQUIRE(first.key);
        REQUIRE(second.key);
        CHECK(first.key->limits.minute == per_minute);
        CHECK(second.key->limits.minute == per_minute);
    }
    void check_failed()
    {
        check_ended();
        for (const auto* waiter : {&first, &second}) {
            REQUIRE(waiter->error);
            CHECK(waiter->error->code == api::ErrorCode::service_unavailable);
        }
        CHECK_FALSE(cache.find(digest_of(1)));
    }

    Waiter first;
    Waiter second;
};

}  // namespace

TEST_CASE("a plan that was unknown so far is read before it limits", "[store]")
{
    NewPlan f;
    f.link.reply(kGold);
    f.check_limit(777);
    CHECK(f.log.plan.empty());
}

TEST_CASE("a read of the plans may be older than the plan of a key", "[store]")
{
    NewPlan f;
    f.link.reply(kNoPlans);
    CHECK(f.first.calls == 0);
    // Both share the next one.
    CHECK(f.link.commands
          == std::deque<FakeLink::Words>{
              {"HSCAN", "petstore:plans", "0", "COUNT", "1024"}});
    SECTION("the next one has it")
    {
        f.link.reply(kGold);
        f.check_limit(777);
        CHECK(f.log.plan.empty());
    }
    SECTION("it does not exist")
    {
        f.link.reply(kNoPlans);
        f.check_limit(60);
        CHECK(f.log.plan == "gold");
    }
    SECTION("Redis does not answer")
    {
        f.link.lose(NoReply::in_doubt);
        f.check_failed();
    }
}

TEST_CASE("no key with an unknown plan is cached while Redis is away",
          "[store]")
{
    NewPlan f;
    f.link.full = true;
    SECTION("the next read is refused at once")
    {
        f.link.reply(kNoPlans);
    }
    SECTION("the one on its way fails, too")
    {
        f.link.lose(NoReply::in_doubt);
    }
    f.check_failed();

    f.link.full = false;
    Waiter third;
    f.loader.load(digest_of(3), {}, third);
    f.reply("c", 5);
    CHECK(third.key->limits.minute == 300);
    CHECK(f.link.commands.empty());
}

TEST_CASE("plan, numbers and external id come from the account", "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    f.link.reply(record("a", 5, ""));
    f.link.reply(account(
        "a", {"plan", "business", "per_day", "77", "external_id", "cust_42"}));
    REQUIRE(waiter.key);
    CHECK(waiter.key->record.plan() == "business");
    CHECK(waiter.key->record.external_id() == "cust_42");
    CHECK(waiter.key->limits.minute == 1000);
    CHECK(waiter.key->limits.day == 77);
    CHECK_FALSE(waiter.key->record.disabled);
}

TEST_CASE("the keys of a disabled account are disabled", "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    f.link.reply(record("a", 5, ""));
    f.link.reply(account("a", {"disabled", "1", "plan", "gold"}));
    REQUIRE(waiter.key);
    CHECK(waiter.key->record.disabled);
    CHECK(f.log.plan.empty());  // it limits nothing
}

TEST_CASE("a disabled key is refused without its account", "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    f.link.reply(
        array({bulk("id"), bulk("k"), bulk("account"), bulk("a"),
               bulk("disabled"), bulk("1"), bulk("plan"), bulk("gold")}));
    CHECK(f.link.sent.size() == 1);
    REQUIRE(waiter.key);
    CHECK(waiter.key->record.disabled);
    CHECK(f.log.plan.empty());
}

TEST_CASE("a key of a deleted account is not found", "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    f.link.reply(record("a", 5));
    f.link.reply(account("a", {"deleted", "9"}));
    CHECK(waiter.calls == 1);
    CHECK_FALSE(waiter.key);
    CHECK_FALSE(waiter.error);
    CHECK_FALSE(f.cache.find(digest_of(1)));
}

TEST_CASE("a key whose account has no record is of an earlier version",
          "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    f.link.reply(record("a", 5));
    f.link.reply("*0\r\n");
    CHECK(waiter.calls == 1);
    REQUIRE(waiter.error);
    CHECK(waiter.error->code == api::ErrorCode::service_unavailable);
    CHECK(f.log.without_record == "a");
    CHECK_FALSE(f.cache.find(digest_of(1)));
}

TEST_CASE("a damaged account record is an internal error and is logged",
          "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    f.link.reply(record("a", 5));
    f.link.reply(GENERATE(as<std::string>{}, account("b"),
                          account("a", {"plan", "Pro"}), "-WRONGTYPE x\r\n"));
    CHECK(waiter.calls == 1);
    REQUIRE(waiter.error);
    CHECK(waiter.error->code == api::ErrorCode::internal_error);
    CHECK(f.log.damaged_key == "petstore:account:a");
    CHECK_FALSE(f.cache.find(digest_of(1)));
}

TEST_CASE("keys of one account share the read of its record", "[store]")
{
    Fixture f;
    f.link.cluster = GENERATE(false, true);
    const std::int64_t epoch = GENERATE(0, 9);
    // In a Cluster, only one that was sent after the epoch was known.
    const bool shared = epoch != 0 || !f.link.cluster;
    Waiter first;
    Waiter second;
    f.loader.load(digest_of(1), {epoch}, first);
    f.loader.load(digest_of(2), {epoch}, second);
    f.link.reply(record("a", 5));
    f.link.reply(record("a", 6));
    CHECK(f.link.sent.size() == (shared ? 3 : 4));
    f.link.reply(account("a"));
    if (!shared) {
        f.link.reply(account("a"));
    }
    REQUIRE(first.key);
    REQUIRE(second.key);
    CHECK(first.key->epoch == (epoch == 0 ? 5 : 9));
    CHECK(second.key->epoch == (epoch == 0 ? 6 : 9));
    CHECK(first.key->account == second.key->account);
}

// Between the two, account and key may have changed, in that order.
TEST_CASE("an account's record that was read before the key's is not used",
          "[store]")
{
    Fixture f;
    const std::int64_t epoch = GENERATE(0, 9);
    Waiter first;
    Waiter second;
    f.loader.load(digest_of(1), {}, first);
    f.link.reply(record("a", 5));
    CHECK(f.read() == "petstore:account:a");
    f.loader.load(digest_of(2), {epoch}, second);
    f.link.reply(record("a", 6, ""), 1);
    REQUIRE(f.link.sent.size() == 4);
    CHECK(f.read() == "petstore:account:a");
    f.link.reply(account("a", {"per_day", "1"}));
    CHECK(first.calls == 1);
    CHECK(second.calls == 0);
    f.link.reply(account("a", {"per_day", "2"}));
    REQUIRE(second.key);
    CHECK(second.key->limits.day == 2);
}

// The key may have changed between the two reads, before the account did. If
// the account's epoch were taken, the old key would be valid.
TEST_CASE("the epoch of the account's record is not taken", "[store]")
{
    Fixture f;
    Waiter waiter;
    f.loader.load(digest_of(1), {}, waiter);
    f.link.reply(record("a", 5));
    f.link.reply(account("a", {"epoch", "8"}));
    REQUIRE(waiter.key);
    CHECK(waiter.key->epoch == 5);
}
