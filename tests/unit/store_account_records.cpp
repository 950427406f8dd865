#include "catch.h"

#include <functional>
#include <string>

#include "api/digest.h"
#include "api/text.h"
#include "key_world.h"
#include "store/accounts/account_administration.h"
#include "store/keys/key_administration.h"

using namespace petstore;
using store::AccountName;
using store::Refusal;
using store::StoredKey;

namespace {

struct Office : InKeyWorld {
    Result<api::AccountRecord> create(const std::string& id,
                                      const std::string& external_id = "")
    {
        api::AccountRecord account;
        account.id = id;
        account.external_id = external_id;
        account.created = 1'600'000'000;
        return run(store::create_account(world.links(), account));
    }
    Result<api::AccountRecord> find(const AccountName& name)
    {
        return run(store::find_account(world.links(), name));
    }
    Result<api::AccountRecord> rename(const std::string& id,
                                      const std::string& external_id)
    {
        return run(store::update_account(world.links(), {id, ""},
                                         [&](api::AccountRecord& account) {
                                             account.external_id = external_id;
                                         }));
    }
    // What `account set` and a PATCH do.
    Result<api::AccountRecord> name(const std::string& id)
    {
        return run(store::update_account(
            world.links(), {id, ""},
            [](api::AccountRecord& account) { account.implicit = false; }));
    }
    Result<store::Done> remove(const std::string& id)
    {
        return run(store::delete_account(world.links(), {id, ""}));
    }
    Result<StoredKey> add_key(const std::string& id,
                              const std::optional<AccountName>& owner)
    {
        StoredKey key(api::sha256(id));
        key.record.id = id;
        key.record.account = "of-" + id;
        key.record.plan = "pro";
        key.record.created = 1'600'000'000;
        return run(store::add_key(world.links(), key, owner));
    }
    Result<store::Done> remove_key(const std::string& id)
    {
        return run(store::remove_key(world.links(), id));
    }
    std::size_t key_count(const std::string& account)
    {
        return run(store::list_keys_of_account(world.links(), {account, ""}))
            .value()
            .keys.size();
    }
    std::string claim(const std::string& external_id)
    {
        const auto found =
            world.strings.find(world.schema.external_id(external_id));
        return found == world.strings.end() ? "" : found->second;
    }
    KeyWorld::Hash& record(const std::string& account)
    {
        return world.hashes["P:account:" + account];
    }
};

}  // namespace

TEST_CASE("creating an account can be repeated after any lost reply", "[store]")
{
    at_each_command<Office>(
        60, [](Office&) {},
        [](Office& office) { return !office.create("a1", "cust").failed(); },
        [](Office& office) {
            CHECK(office.find({"a1", ""}).value().external_id == "cust");
            CHECK(office.find({"", "cust"}).value().id == "a1");
            CHECK(office.world.hashes["P:accounts"].count("a1") == 1);
        });
}

TEST_CASE("no account is created without being in effect", "[store]")
{
    // To run the command again would create another.
    for (int number = 1;; ++number) {
        CAPTURE(number);
        Office office;
        office.world.cut(number, KeyWorld::Lost::after);
        const auto created = office.create("a1", "cust");
        if (!created.failed()) {
            CHECK(number > 3);
            break;
        }
        CHECK(created.failure().in_doubt);
        CHECK_FALSE(created.failure().not_in_effect);
    }
}

TEST_CASE("an external id belongs to one account", "[store]")
{
    Office office;
    REQUIRE_FALSE(office.create("a1", "cust").failed());
    CHECK(office.create("a2", "cust").refusal() == Refusal::external_id_taken);
    CHECK(office.find({"a2", ""}).refusal() == Refusal::account_not_found);
    REQUIRE_FALSE(office.create("a2").failed());
    CHECK(office.rename("a2", "cust").refusal() == Refusal::external_id_taken);

    SECTION("until it is renamed")
    {
        REQUIRE_FALSE(office.rename("a1", "other").failed());
        CHECK(office.find({"", "cust"}).refusal()
              == Refusal::account_not_found);
        CHECK_FALSE(office.rename("a2", "cust").failed());
    }
    SECTION("until it is deleted")
    {
        REQUIRE_FALSE(office.remove("a1").failed());
        CHECK_FALSE(office.rename("a2", "cust").failed());
    }
    SECTION("a claim without a record is taken over")
    {
        office.world.strings[office.world.schema.external_id("new")] = "a9";
        CHECK_FALSE(office.rename("a2", "new").failed());
        CHECK(office.claim("new") == "a2");
    }
    SECTION("who finds it with another account after all loses it")
    {
        office.world.before = [&](const KeyWorld::Words& command) {
            if (command[0] == "GET"
                && office.record("a2").count("external_id")) {
                office.world.strings[command[1]] = "a1";
                office.record("a1")["external_id"] = "new";
            }
        };
        const auto changed = office.run(store::update_account(
            office.world.links(), {"a2", ""}, [](api::AccountRecord& account) {
                account.external_id = "new";
                account.label = "new";
            }));
        CHECK(changed.refusal() == Refusal::external_id_taken);
        office.world.before = nullptr;
        const auto account = office.find({"a2", ""}).value();
        CHECK(account.external_id.empty());
        // Nothing else of the change remains, either.
        CHECK(account.label.empty());
    }
}

TEST_CASE("changing an account can be repeated after any lost reply", "[store]")
{
    at_each_command<Office>(
        60,
        [](Office& office) {
            REQUIRE_FALSE(office.create("a1", "old").failed());
        },
        [](Office& office) { return !office.rename("a1", "new").failed(); },
        [](Office& office) {
            CHECK(office.find({"", "new"}).value().id == "a1");
            CHECK(office.find({"", "old"}).refusal()
                  == Refusal::account_not_found);
            CHECK(office.world.epochs.count("P:{a1}:state") == 1);
        });
}

TEST_CASE("a change by the external id that it replaces can be repeated",
          "[store]")
{
    const std::string replacement = GENERATE("new", "");
    CAPTURE(replacement);
    at_each_command<Office>(
        60,
        [](Office& office) {
            REQUIRE_FALSE(office.create("a1", "old").failed());
        },
        [&](Office& office) {
            const auto changed = office.run(
                store::update_account(office.world.links(), {"", "old"},
                                      [&](api::AccountRecord& account) {
                                          account.external_id = replacement;
                                          account.plan = "pro";
                                      }));
            // Only the reply to the last command may have been lost.
            return !changed.failed()
                   || (changed.refusal() == Refusal::account_not_found
                       && office.claim("old").empty());
        },
        [&](Office& office) {
            const auto account = office.find({"a1", ""}).value();
            CHECK(account.external_id == replacement);
            CHECK(account.plan == "pro");
            CHECK(office.claim("old").empty());
            CHECK(office.world.epochs.count("P:{a1}:state") == 1);
        });
}

TEST_CASE("a claim that an interrupted change left names nothing to others",
          "[store]")
{
    Office office;
    REQUIRE_FALSE(office.create("a1", "new").failed());
    office.world.strings[office.world.schema.external_id("old")] = "a1";
    const auto change = [&](const store::AccountChange& change) {
        return office.run(
            store::update_account(office.world.links(), {"", "old"}, change));
    };
    CHECK(change([](api::AccountRecord& account) {
              account.label = "x";
          }).refusal()
          == Refusal::account_not_found);
    CHECK(change([](api::AccountRecord& account) {
              account.external_id = "third";
          }).refusal()
          == Refusal::account_not_found);
    CHECK(office.find({"a1", ""}).value().external_id == "new");
    CHECK(office.run(store::delete_account(office.world.links(), {"", "old"}))
              .refusal()
          == Refusal::account_not_found);
    CHECK_FALSE(office.find({"a1", ""}).failed());
}

TEST_CASE("a deletion by the external id can be repeated", "[store]")
{
    const auto deleted = [](Office& office) {
        return office.world.hashes["P:accounts"]["a1"].find(' ')
               != std::string::npos;
    };
    for (const AccountName& name : {AccountName{"", "cust"}, {"a1", ""}}) {
        CAPTURE(name.id);
        at_each_command<Office>(
            60,
            [](Office& office) {
                REQUIRE_FALSE(office.create("a1", "cust").failed());
            },
            [&](Office& office) {
                const auto removed = office.run(
                    store::delete_account(office.world.links(), name));
                // Only the reply to the last command may have been lost.
                return !removed.failed()
                       || (removed.refusal() == Refusal::account_not_found
                           && deleted(office) && office.claim("cust").empty());
            },
            [&](Office& office) {
                CHECK(office.record("a1").count("deleted") == 1);
                CHECK(deleted(office));
                CHECK(office.claim("cust").empty());
                CHECK(office.remove("a1").refusal()
                      == Refusal::account_not_found);
            });
    }
}

TEST_CASE("deleting an account can be repeated after any lost reply", "[store]")
{
    at_each_command<Office>(
        60,
        [](Office& office) {
            REQUIRE_FALSE(office.create("a1", "cust").failed());
        },
        [](Office& office) {
            const auto removed = office.remove("a1");
            // Interrupted, it changes nothing or deletes the account.
            CHECK(office.record("a1").at("disabled") == "0");
            return !removed.failed()
                   || removed.refusal() == Refusal::account_not_found;
        },
        [](Office& office) {
            CHECK(office.record("a1").count("deleted") == 1);
            CHECK(office.record("a1").at("external_id") == "cust");
            REQUIRE_FALSE(office.world.settled.empty());
            CHECK(office.world.settled.front() == "P:{a1}:state 0");
            CHECK_FALSE(office.create("a2", "cust").failed());
        });
}

TEST_CASE("an account is not deleted without the time", "[store]")
{
    Office office;
    REQUIRE_FALSE(office.create("a1").failed());
    office.world.time = -1;
    CHECK(office.remove("a1").failure().error.code
          == api::ErrorCode::service_unavailable);
    CHECK(office.record("a1").count("deleted") == 0);
    office.world.time = 1'700'000'000;
    CHECK_FALSE(office.remove("a1").failed());
    CHECK(office.record("a1").at("deleted") == "1700000000");
}

TEST_CASE("an account with keys is not deleted", "[store]")
{
    Office office;
    REQUIRE_FALSE(office.create("a1").failed());
    REQUIRE_FALSE(office.add_key("k1", AccountName{"a1", ""}).failed());
    CHECK(office.key_count("a1") == 1);
    CHECK(office.remove("a1").refusal() == Refusal::account_in_use);
    CHECK(office.record("a1").at("disabled") == "0");
    REQUIRE_FALSE(office.remove_key("k1").failed());
    CHECK(office.key_count("a1") == 0);
    CHECK_FALSE(office.remove("a1").failed());
    CHECK(office.add_key("k2", AccountName{"a1", ""}).refusal()
          == Refusal::account_not_found);
}

TEST_CASE("an account's keys are found although their server changes",
          "[store]")
{
    Office office;
    REQUIRE_FALSE(office.create("a1").failed());
    REQUIRE_FALSE(office.add_key("k1", AccountName{"a1", ""}).failed());
    office.world.replace_server_of("P:account-keys:a1");
    CHECK(office.remove("a1").refusal() == Refusal::account_in_use);
    CHECK(office.world.count("SSCAN") == 3);
    CHECK(office.record("a1").count("deleted") == 0);
}

TEST_CASE("an account's keys are looked for in an open slot", "[store]")
{
    Office office;
    REQUIRE_FALSE(office.create("a1").failed());
    office.world.redirects = true;
    SECTION("of which one page has the first")
    {
        for (int i = 1; i <= 150; ++i) {
            const auto id = "k" + std::to_string(i);
            REQUIRE_FALSE(office.add_key(id, AccountName{"a1", ""}).failed());
        }
        CHECK(office.remove("a1").refusal() == Refusal::account_in_use);
    }
    SECTION("of which there are none")
    {
        CHECK_FALSE(office.remove("a1").failed());
    }
}

TEST_CASE("a key that is added while its account is deleted keeps it",
          "[store]")
{
    // The key arrives before each command of the deletion.
    for (int at = 1; at < 30; ++at) {
        CAPTURE(at);
        Office office;
        REQUIRE_FALSE(office.create("a1").failed());
        KeyWorld& world = office.world;
        Result<store::Done> removed;
        Result<StoredKey> added;
        StoredKey key(api::sha256("k1"));
        key.record.id = "k1";
        int number = 0;
        world.before = [&](const KeyWorld::Words&) {
            if (++number == at) {
                store::run(
                    office.running,
                    store::add_key(world.links(), key, AccountName{"a1", ""}),
                    added);
            }
        };
        store::run(office.running,
                   store::delete_account(world.links(), {"a1", ""}), removed);
        world.run();
        world.before = nullptr;
        REQUIRE(removed.calls == 1);
        if (added.calls == 0) {
            break;
        }
        // Either the account is deleted or it has the key.
        CHECK(added.failed() != removed.failed());
        CHECK(office.find({"a1", ""}).failed() == added.failed());
        if (!added.failed()) {
            CHECK(office.record("a1").at("disabled") == "0");
            CHECK(office.key_count("a1") == 1);
        }
    }
}

TEST_CASE("an account that came with a key goes with its last key", "[store]")
{
    Office office;
    REQUIRE_FALSE(office.add_key("k1", std::nullopt).failed());
    CHECK(office.record("of-k1").at("implicit") == "1");
    CHECK(office.record("of-k1").at("plan") == "pro");
    CHECK(office.world
              .hashes["P:key:" + api::to_hex(api::bytes_of(api::sha256("k1")))]
              .count("plan")
          == 0);
    SECTION("at once")
    {
        REQUIRE_FALSE(office.remove_key("k1").failed());
        CHECK(office.record("of-k1").count("deleted") == 1);
    }
    SECTION("also if another change was made to it")
    {
        REQUIRE_FALSE(office.rename("of-k1", "cust").failed());
        REQUIRE_FALSE(office.remove_key("k1").failed());
        CHECK(office.record("of-k1").count("deleted") == 1);
    }
    SECTION("not if it was named since")
    {
        if (GENERATE(true, false)) {
            REQUIRE_FALSE(
                office.add_key("k2", AccountName{"of-k1", ""}).failed());
            REQUIRE_FALSE(office.remove_key("k2").failed());
        } else {
            REQUIRE_FALSE(office.name("of-k1").failed());
        }
        REQUIRE_FALSE(office.remove_key("k1").failed());
        CHECK(office.record("of-k1").count("deleted") == 0);
        CHECK(office.record("of-k1").count("implicit") == 0);
    }
}

TEST_CASE("removing the last key can be repeated after any lost reply",
          "[store]")
{
    at_each_command<Office>(
        60,
        [](Office& office) {
            REQUIRE_FALSE(office.add_key("k1", std::nullopt).failed());
        },
        [](Office& office) {
            const auto removed = office.remove_key("k1");
            return !removed.failed() || removed.refusal() == Refusal::not_found;
        },
        [](Office& office) {
            CHECK(office.world.hashes["P:keys"].empty());
            CHECK(office.record("of-k1").count("deleted") == 1);
        });
}

TEST_CASE("an account is reset, and its usage stays", "[store]")
{
    Office office;
    REQUIRE_FALSE(office.create("a1").failed());
    const auto reset =
        office.run(store::reset_account(office.world.links(), {"a1", ""}));
    CHECK_FALSE(reset.failed());
    CHECK(office.world.settled == std::vector<std::string>{"P:{a1}:state 1"});
    CHECK(office.world.epochs.count("P:{a1}:state") == 1);
}

TEST_CASE("accounts are listed with what is wrong", "[store]")
{
    Office office;
    for (const char* id : {"a1", "a2", "a3", "a4"}) {
        REQUIRE_FALSE(office.create(id).failed());
    }
    REQUIRE_FALSE(office.remove("a2").failed());
    office.record("a3")["disabled"] = "maybe";
    office.world.hashes.erase("P:account:a4");
    const auto listing =
        office.run(store::list_accounts(office.world.links())).value();
    REQUIRE(listing.accounts.size() == 1);
    CHECK(listing.accounts[0].id == "a1");
    CHECK(listing.damaged == std::vector<std::string>{"a3"});
    CHECK(listing.missing == std::vector<std::string>{"a4"});
}
