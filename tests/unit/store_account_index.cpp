// The index of accounts, and how it forgets those that are long gone.
#include "catch.h"

#include <functional>
#include <string>

#include "key_world.h"
#include "store/accounts/account_administration.h"
#include "store/accounts/usage_administration.h"

using namespace petstore;

namespace {

constexpr std::int64_t kDay = 86'400;

struct Registry : InKeyWorld {
    void create()
    {
        api::AccountRecord account;
        account.id = "a1";
        account.created = 1'600'000'000;
        REQUIRE_FALSE(
            run(store::create_account(world.links(), account)).failed());
    }
    void remove()
    {
        REQUIRE_FALSE(
            run(store::delete_account(world.links(), {"a1", ""})).failed());
    }
    std::size_t list()
    {
        const auto listing = run(store::list_accounts(world.links()));
        REQUIRE_FALSE(listing.failed());
        return listing.value().accounts.size();
    }
    // After the record has expired.
    void pass_days(int days)
    {
        world.time += days * kDay;
        world.hashes.erase("P:account:a1");
    }
    std::string entry()
    {
        const auto& index = world.hashes["P:accounts"];
        const auto found = index.find("a1");
        return found == index.end() ? "" : found->second;
    }
};

}  // namespace

TEST_CASE("the index of accounts notes a deletion", "[store]")
{
    Registry registry;
    registry.create();
    CHECK(registry.entry() == "1600000000");
    registry.remove();
    CHECK(registry.entry() == "1600000000 1700000000");
    CHECK(registry.list() == 0);
    registry.create();
    CHECK(registry.entry() == "1600000000");
}

TEST_CASE("a list forgets an account whose record has expired", "[store]")
{
    Registry registry;
    registry.create();
    registry.remove();
    registry.pass_days(433);
    if (GENERATE(true, false)) {
        CHECK(registry.list() == 0);
    } else {
        // Those that the usage of all accounts reads.
        const auto ids =
            registry.run(store::list_account_ids(registry.world.links()));
        CHECK_FALSE(ids.failed());
    }
    CHECK(registry.entry().empty());
}

TEST_CASE("a list forgets no other account", "[store]")
{
    Registry registry;
    registry.create();
    SECTION("whose record may only be late")
    {
        registry.remove();
        registry.pass_days(431);
    }
    SECTION("whose record is still there")
    {
        registry.remove();
        registry.world.time += 500 * kDay;
    }
    SECTION("that was not deleted")
    {
        registry.pass_days(500);
    }
    SECTION("whose entry is damaged")
    {
        registry.pass_days(500);
        registry.world.hashes["P:accounts"]["a1"] = "1600000000 long ago";
    }
    SECTION("that is restored meanwhile")
    {
        registry.remove();
        registry.pass_days(500);
        registry.world.before = [&](const KeyWorld::Words& command) {
            if (command[0] == "EVALSHA") {
                registry.world.hashes["P:accounts"]["a1"] = "1600000000";
            }
        };
    }
    SECTION("that it may not forget")
    {
        registry.remove();
        registry.pass_days(500);
        registry.world.replies["EVALSHA"] = "-NOPERM no\r\n";
    }
    registry.list();
    CHECK_FALSE(registry.entry().empty());
}

TEST_CASE("one of two accounts gets the external id that both want", "[store]")
{
    const auto create = [](Registry& registry, const std::string& id,
                           auto& waiter) {
        api::AccountRecord account;
        account.id = id;
        account.created = 1'600'000'000;
        account.external_id = "x";
        store::run(registry.running,
                   store::create_account(registry.world.links(), account),
                   waiter);
    };
    for (int start = 1;; ++start) {
        REQUIRE(start < 40);
        CAPTURE(start);
        Registry registry;
        Result<api::AccountRecord> one;
        Result<api::AccountRecord> two;
        registry.world.before = [&](const KeyWorld::Words&) {
            if (registry.world.number == start) {
                create(registry, "a2", two);
            }
        };
        create(registry, "a1", one);
        registry.world.run();
        REQUIRE(one.calls == 1);
        if (two.calls == 0) {
            break;  // the first one has ended before
        }
        CHECK(one.failed() != two.failed());
        const auto& loser = one.failed() ? one : two;
        CHECK(loser.refusal() == store::Refusal::external_id_taken);
        CHECK(registry.world.strings.at(registry.world.schema.external_id("x"))
              == (one.failed() ? "a2" : "a1"));
    }
}

TEST_CASE("of two changes of an account's external id each ends", "[store]")
{
    const auto rename = [](Registry& registry, const std::string& external_id,
                           auto& waiter) {
        store::run(
            registry.running,
            store::update_account(registry.world.links(), {"a1", ""},
                                  [external_id](api::AccountRecord& account) {
                                      account.external_id = external_id;
                                      account.label += external_id;
                                  }),
            waiter);
    };
    for (int start = 1;; ++start) {
        REQUIRE(start < 40);
        CAPTURE(start);
        Registry registry;
        registry.create();
        KeyWorld& world = registry.world;
        const int before = world.number;
        Result<api::AccountRecord> one;
        Result<api::AccountRecord> two;
        world.before = [&](const KeyWorld::Words&) {
            if (world.number == before + start) {
                rename(registry, "y", two);
            }
        };
        rename(registry, "x", one);
        world.run();
        REQUIRE(one.calls == 1);
        CHECK_FALSE(one.failed());
        if (two.calls == 0) {
            CHECK(start > 5);
            break;
        }
        CHECK_FALSE(two.failed());
        CHECK(world.number - before < 60);
        const auto& record = world.hashes["P:account:a1"];
        const std::string& kept = record.at("external_id");
        CHECK((kept == "x" || kept == "y"));
        CHECK(world.strings.at(world.schema.external_id(kept)) == "a1");
        // The other members of both.
        CHECK(record.at("label").size() == 2);
    }
}

TEST_CASE("an account that has lost its record is missing until it is deleted",
          "[store]")
{
    Registry registry;
    registry.create();
    registry.world.hashes.erase("P:account:a1");
    const auto missing = [&] {
        return registry.run(store::list_accounts(registry.world.links()))
            .value()
            .missing;
    };
    CHECK(missing() == std::vector<std::string>{"a1"});
    registry.remove();
    CHECK(missing().empty());
    CHECK(registry.entry().empty());
    CHECK(
        registry.run(store::delete_account(registry.world.links(), {"a1", ""}))
            .refusal()
        == store::Refusal::account_not_found);
}
