// Administration completes what an interruption or a loss of data left out.
#include "catch.h"

#include <functional>
#include <string>

#include "api/text.h"
#include "key_world.h"
#include "store/accounts/account_administration.h"
#include "store/keys/key_administration.h"

using namespace petstore;
using store::AccountName;
using store::Refusal;
using store::StoredKey;

namespace {

StoredKey key_of_a1()
{
    StoredKey key(api::sha256("k1"));
    key.record.id = "k1";
    key.record.account = "a1";
    key.record.created = 1'600'000'000;
    return key;
}

struct Desk : InKeyWorld {
    Result<api::AccountRecord> create_account()
    {
        api::AccountRecord account;
        account.id = "a1";
        account.created = 1'600'000'000;
        return run(store::create_account(world.links(), account));
    }
    Result<StoredKey> store_key(const std::optional<AccountName>& owner)
    {
        return run(store::store_key(world.links(), key_of_a1(), owner));
    }
    void start_enabling(Result<api::KeyRecord>& result)
    {
        store::run(running,
                   store::update_key(
                       world.links(), "k1",
                       [](api::KeyRecord& record) { record.disabled = false; }),
                   result);
    }
    Result<api::KeyRecord> enable_key()
    {
        Result<api::KeyRecord> result;
        start_enabling(result);
        world.run();
        REQUIRE(result.calls == 1);
        return result;
    }
    Result<bool> restore_key(const std::string& external_id = "",
                             bool implicit = false)
    {
        api::AccountRecord account;
        account.id = "a1";
        account.external_id = external_id;
        account.label = "of the backup";
        account.implicit = implicit;
        account.created = 1'600'000'000;
        return run(store::restore_key(world.links(), key_of_a1(), account));
    }
    // Changes of Redis keys that a worker reads.
    std::string record_epochs()
    {
        return world.hashes["P:account:a1"]["epoch"] + ' '
               + world.hashes[world.schema.key_record(api::sha256("k1"))]
                             ["epoch"];
    }
    Result<store::Done> remove_key()
    {
        return run(store::remove_key(world.links(), "k1"));
    }
    // Its command number `at` and all later ones do not reach Redis.
    Result<store::Done> remove_key_until(int at)
    {
        world.cut(at, KeyWorld::Lost::before);
        auto removed = remove_key();
        world.cut(0, KeyWorld::Lost::before);
        return removed;
    }
    Result<store::Done> remove_account()
    {
        return run(store::delete_account(world.links(), {"a1", ""}));
    }
};

}  // namespace

TEST_CASE("enabling an unfinished key completes its creation", "[store]")
{
    const bool existing = GENERATE(true, false);
    const auto owner =
        existing ? std::optional(AccountName{"a1", ""}) : std::nullopt;
    int enabled = 0;
    for (int number = 1;; ++number) {
        CAPTURE(existing, number);
        REQUIRE(number < 40);
        Desk desk;
        if (existing) {
            REQUIRE_FALSE(desk.create_account().failed());
        }
        desk.world.cut(number, KeyWorld::Lost::before);
        desk.store_key(owner);
        if (!desk.world.was_cut()) {
            break;
        }
        desk.world.cut(0, KeyWorld::Lost::before);
        const auto changed = desk.enable_key();
        if (changed.failed()) {
            CHECK(changed.refusal() == Refusal::not_found);
            continue;
        }
        ++enabled;
        CHECK(desk.world.sets["P:account-keys:a1"].count("k1") == 1);
        CHECK(desk.remove_account().refusal() == Refusal::account_in_use);
    }
    CHECK(enabled == 3);
}

TEST_CASE("an account that is deleted while its unfinished key is enabled",
          "[store]")
{
    // The change arrives before each command of the deletion.
    for (int at = 1; at < 30; ++at) {
        CAPTURE(at);
        Desk desk;
        REQUIRE_FALSE(desk.create_account().failed());
        REQUIRE_FALSE(desk.store_key(AccountName{"a1", ""}).failed());
        desk.world.sets.clear();
        Result<store::Done> removed;
        Result<api::KeyRecord> changed;
        int number = 0;
        desk.world.before = [&](const KeyWorld::Words&) {
            if (++number == at) {
                desk.start_enabling(changed);
            }
        };
        store::run(desk.running,
                   store::delete_account(desk.world.links(), {"a1", ""}),
                   removed);
        desk.world.run();
        REQUIRE(removed.calls == 1);
        if (changed.calls == 0) {
            break;
        }
        // Either the account is deleted or it has the key.
        CHECK(changed.failed() != removed.failed());
        CHECK(desk.world.sets["P:account-keys:a1"].size()
              == (removed.failed() ? 1 : 0));
    }
}

TEST_CASE("a key whose deletion was interrupted is listed once it is enabled",
          "[store]")
{
    const bool existing = GENERATE(true, false);
    int enabled = 0;
    for (int at = 1;; ++at) {
        CAPTURE(existing, at);
        REQUIRE(at < 40);
        Desk desk;
        REQUIRE(desk.restore_key("", !existing).value());
        if (!desk.remove_key_until(at).failed()) {
            break;
        }
        const bool has_account =
            desk.world.hashes["P:account:a1"].count("deleted") == 0;
        const bool has_key =
            !desk.world.hashes[desk.world.schema.key_record(api::sha256("k1"))]
                 .empty();
        const auto changed = desk.enable_key();
        if (changed.failed()) {
            CHECK(changed.refusal() == Refusal::not_found);
            CHECK(
                changed.message()
                == (has_key && !has_account
                        ? "the account of key k1 is deleted: delete the key, too"
                        : "there is no key with this id"));
            continue;
        }
        ++enabled;
        CHECK(desk.world.sets["P:account-keys:a1"].count("k1") == 1);
        CHECK(desk.remove_account().refusal() == Refusal::account_in_use);
    }
    CHECK(enabled > 5);
}

TEST_CASE("a key that is enabled while its deletion goes on", "[store]")
{
    const bool at_once = GENERATE(true, false);
    int removed_after = 0;
    for (int at = 1;; ++at) {
        CAPTURE(at_once, at);
        REQUIRE(at < 60);
        Desk desk;
        REQUIRE_FALSE(desk.create_account().failed());
        REQUIRE(desk.restore_key().value());
        REQUIRE(desk.remove_key_until(4).failed());  // after the first write
        Result<api::KeyRecord> changed;
        int number = 0;
        desk.world.before = [&](const KeyWorld::Words&) {
            if (++number == at) {
                desk.start_enabling(changed);
                if (at_once) {
                    desk.world.run();
                }
            }
        };
        REQUIRE_FALSE(desk.remove_key().failed());
        if (changed.calls == 0) {
            break;
        }
        CHECK(desk.world.hashes["P:keys"].empty());
        CHECK(desk.world.sets["P:account-keys:a1"].empty());
        removed_after += changed.failed() ? 0 : 1;
        CHECK_FALSE(desk.remove_account().failed());
    }
    CHECK(removed_after > 0);
}

TEST_CASE("restoring a key that exists restores what it lacks", "[store]")
{
    Desk desk;
    REQUIRE(desk.restore_key("cust").value());
    auto& world = desk.world;
    const std::string epochs = desk.record_epochs();
    bool account_lost = false;
    SECTION("nothing") {}
    SECTION("its entry in the index of keys")
    {
        world.hashes.erase("P:keys");
    }
    SECTION("its account's entry in the index")
    {
        world.hashes.erase("P:accounts");
    }
    SECTION("its account's external id")
    {
        world.strings.clear();
    }
    SECTION("its account's record")
    {
        world.hashes.erase("P:account:a1");
        account_lost = true;
    }
    const auto announced = world.epochs;
    CHECK_FALSE(desk.restore_key("cust").value());
    CHECK(world.hashes["P:keys"].count("k1") == 1);
    CHECK(world.hashes["P:accounts"].count("a1") == 1);
    CHECK(world.strings[world.schema.external_id("cust")] == "a1");
    CHECK(world.hashes["P:account:a1"]["label"] == "of the backup");
    CHECK((desk.record_epochs() != epochs) == account_lost);
    CHECK((world.epochs != announced) == account_lost);
}

TEST_CASE("a refused key restores no account that lives with its keys",
          "[store]")
{
    const bool implicit = GENERATE(false, true);
    CAPTURE(implicit);
    Desk desk;
    REQUIRE(desk.restore_key("cust", implicit).value());
    desk.world.hashes.erase("P:account:a1");
    desk.world.hashes.erase("P:accounts");
    desk.world.strings.clear();
    SECTION("because of its id")
    {
        desk.world.hashes["P:keys"]["k1"] =
            api::to_hex(api::bytes_of(api::sha256("other")));
    }
    bool has_other = false;  // the account has the key in the way
    SECTION("because of its digest")
    {
        has_other = GENERATE(false, true);
        desk.world.hashes["P:keys"].erase("k1");
        auto& record =
            desk.world.hashes[desk.world.schema.key_record(api::sha256("k1"))];
        record["id"] = "k2";
        record["account"] = has_other ? "a1" : "a2";
    }
    const auto announced = desk.world.epochs;
    CHECK(desk.restore_key("cust", implicit).refusal() == Refusal::key_exists);
    if (implicit && !has_other) {
        CHECK(desk.world.epochs == announced);
        CHECK(desk.world.hashes.count("P:account:a1") == 0);
        CHECK(desk.world.hashes["P:accounts"].empty());
        CHECK(desk.world.strings.empty());
        return;
    }
    // Workers may have other keys of the account.
    CHECK(desk.world.epochs != announced);
    CHECK(desk.world.hashes["P:account:a1"]["label"] == "of the backup");
    CHECK(desk.world.hashes["P:accounts"].count("a1") == 1);
    CHECK(desk.world.strings[desk.world.schema.external_id("cust")] == "a1");
}

TEST_CASE("an account comes back although its key is damaged", "[store]")
{
    const bool implicit = GENERATE(false, true);
    CAPTURE(implicit);
    Desk desk;
    REQUIRE(desk.restore_key("cust", implicit).value());
    desk.world.hashes.erase("P:account:a1");
    desk.world.hashes.erase("P:accounts");
    SECTION("in its record")
    {
        desk.world
            .hashes[desk.world.schema.key_record(api::sha256("k1"))]["scopes"] =
            "BAD SCOPE";
    }
    SECTION("in the index")
    {
        desk.world.hashes["P:keys"]["k1"] = "damaged";
    }
    CHECK(desk.restore_key("cust", implicit).refusal() == Refusal::damaged);
    CHECK(desk.world.hashes["P:accounts"].count("a1") == (implicit ? 0 : 1));
}

TEST_CASE("restoring a key adds it to its account again", "[store]")
{
    Desk desk;
    REQUIRE(desk.restore_key().value());
    desk.world.sets.clear();
    CHECK_FALSE(desk.restore_key().value());
    CHECK(desk.world.sets["P:account-keys:a1"].count("k1") == 1);
    CHECK(desk.remove_account().refusal() == Refusal::account_in_use);
}

TEST_CASE("restoring a key does not return its account's old external id",
          "[store]")
{
    Desk desk;
    REQUIRE(desk.restore_key("old").value());
    const auto renamed = desk.run(store::update_account(
        desk.world.links(), {"a1", ""},
        [](api::AccountRecord& account) { account.external_id = "new"; }));
    REQUIRE_FALSE(renamed.failed());
    api::AccountRecord other;
    other.id = "a2";
    other.external_id = "old";
    REQUIRE_FALSE(
        desk.run(store::create_account(desk.world.links(), other)).failed());
    CHECK_FALSE(desk.restore_key("old").value());
    CHECK(desk.world.hashes["P:account:a1"]["external_id"] == "new");

    // An account that is missing cannot have it, either.
    desk.world.hashes.erase("P:account:a1");
    CHECK(desk.restore_key("old").refusal() == Refusal::external_id_taken);
}
