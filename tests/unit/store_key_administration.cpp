#include "catch.h"

#include <functional>
#include <string>
#include <vector>

#include "api/text.h"
#include "key_world.h"
#include "store/keys/key_administration.h"

using namespace petstore;
using store::KeyListing;
using store::Refusal;
using store::StoredKey;

namespace {

api::Digest digest_of(char c)
{
    return api::sha256(std::string(1, c));
}

std::string record_of(const api::Digest& digest)
{
    return "P:key:" + api::to_hex(api::bytes_of(digest));
}

StoredKey new_key(char secret, const std::string& id)
{
    StoredKey key(digest_of(secret));
    key.record.id = id;
    key.record.account = "a" + id;
    key.record.created = 1'600'000'000;
    return key;
}

struct Admin : InKeyWorld {
    Result<StoredKey> add(const StoredKey& key)
    {
        return run(store::add_key(world.links(), key, std::nullopt));
    }
    Result<api::KeyRecord> set_label(const std::string& id)
    {
        return run(store::update_key(world.links(), id,
                                     [this](api::KeyRecord& record) {
                                         ++changes;
                                         record.label = "new";
                                     }));
    }
    Result<store::Done> remove(const std::string& id)
    {
        return run(store::remove_key(world.links(), id));
    }
    Result<bool> restore(const StoredKey& key)
    {
        api::AccountRecord account;
        account.id = key.record.account;
        account.created = key.record.created;
        account.plan = "pro";
        return run(store::restore_key(world.links(), key, account));
    }
    Result<std::optional<StoredKey>> find(const api::Digest& digest)
    {
        return run(store::find_optional(world.links(), digest));
    }
    Result<StoredKey>
    enable(const StoredKey& key,
           store::SecretOrigin secret = store::SecretOrigin::generated)
    {
        return run(store::enable_key(world.links(), key, secret));
    }
    Result<store::Done> discard(const StoredKey& key)
    {
        return run(store::discard_key(world.links(), key));
    }
    Result<StoredKey> find(const std::string& id)
    {
        return run(store::find_key(world.links(), id));
    }
    KeyListing list() { return run(store::list_keys(world.links())).value(); }

    KeyWorld::Hash& record(char secret)
    {
        return world.hashes[record_of(digest_of(secret))];
    }
    std::int64_t epoch(const std::string& account)
    {
        const auto found = world.epochs.find("P:{" + account + "}:state");
        return found == world.epochs.end() ? 0 : found->second;
    }

    // Those that were not deleted.
    std::vector<std::string> accounts() const
    {
        std::vector<std::string> found;
        const std::string prefix = "P:account:";
        for (const auto& [name, hash] : world.hashes) {
            if (name.rfind(prefix, 0) == 0 && hash.count("deleted") == 0) {
                found.push_back(name.substr(prefix.size()));
            }
        }
        return found;
    }

    int changes = 0;
};

}  // namespace

TEST_CASE("adding a key can be repeated after any lost reply", "[store]")
{
    int attempt = 0;
    at_each_command<Admin>(
        40, [](Admin&) {},
        [&](Admin& admin) {
            // Each attempt brings an id of its own, as petstorectl
            // does.
            const auto added =
                admin.add(new_key('s', "k" + std::to_string(++attempt)));
            if (added.failed()) {
                // All but the last write: that one may have enabled
                // the key.
                return added.refusal() == Refusal::key_exists;
            }
            return true;
        },
        [](Admin& admin) {
            const auto& record = admin.record('s');
            CHECK(record.at("disabled") == "0");
            CHECK(record.count("unfinished") == 0);
            const auto& index = admin.world.hashes["P:keys"];
            REQUIRE(index.count(record.at("id")) == 1);
            CHECK("P:key:" + index.at(record.at("id"))
                  == record_of(digest_of('s')));
            CHECK(admin.epoch(record.at("account")) != 0);
            CHECK(admin.list().keys.size() == 1);
        });
}

TEST_CASE("an attempt to add a key replaces what another has left", "[store]")
{
    int attempt = 0;
    bool left = false;
    at_each_command<Admin>(
        40,
        [&](Admin&) {
            attempt = 0;
            left = false;
        },
        [&](Admin& admin) {
            StoredKey key = new_key('s', "k" + std::to_string(++attempt));
            key.record.plan = attempt == 1 ? "free" : "pro";
            const auto added = admin.add(key);
            left = left || (added.failed() && !admin.record('s').empty());
            return !added.failed() || added.refusal() == Refusal::key_exists;
        },
        [&](Admin& admin) {
            const auto& record = admin.record('s');
            const std::string& account = record.at("account");
            CHECK(admin.world.hashes["P:account:" + account].at("plan")
                  == (record.at("id") == "k2" ? "pro" : "free"));
            if (left) {
                CHECK(admin.accounts() == std::vector{account});
            }
        });
}

TEST_CASE("a key that exists is not added again", "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    const auto again = admin.add(new_key('s', "k2"));
    CHECK(again.refusal() == Refusal::key_exists);
    CHECK(again.message() == "this key exists already, its id is k1");

    admin.record('s')["scopes"] = "all of them";
    const auto damaged = admin.add(new_key('s', "k3"));
    CHECK(damaged.refusal() == Refusal::damaged);
    CHECK(damaged.message()
          == "this key exists already, and its record is damaged");
}

TEST_CASE("of two commands that add one key, one is refused", "[store]")
{
    Admin admin;
    admin.world.before = [&](const KeyWorld::Words& command) {
        if (command[0] == "EVALSHA" && command[3].find("P:key:") == 0) {
            admin.record('s') = {{"id", "k9"},  // between read and write
                                 {"account", "a9"},
                                 {"epoch", "7"},
                                 {"unfinished", "1"}};
        }
    };
    const auto added = admin.add(new_key('s', "k1"));
    CHECK(added.refusal() == Refusal::key_exists);
    CHECK(added.message() == "another command is adding this key");
    // Its account is not left behind.
    CHECK(admin.world.hashes.count("P:account:ak1") == 0);
    CHECK(admin.world.hashes["P:accounts"].count("ak1") == 0);
}

TEST_CASE("a stored key works once it is enabled, or is discarded", "[store]")
{
    Admin admin;
    const auto stored = admin.run(store::store_key(
        admin.world.links(), new_key('s', "k1"), std::nullopt));
    REQUIRE_FALSE(stored.failed());
    CHECK(admin.record('s').at("disabled") == "1");
    CHECK(admin.record('s').at("unfinished") == "1");
    CHECK(admin.epoch("ak1") != 0);

    SECTION("enabled")
    {
        const auto enabled = admin.enable(stored.value());
        REQUIRE_FALSE(enabled.failed());
        CHECK(admin.record('s').at("disabled") == "0");
        CHECK(admin.record('s').count("unfinished") == 0);
    }
    SECTION("changed meanwhile")
    {
        admin.record('s')["epoch"] = "7";
        admin.record('s')["label"] = "theirs";
        const auto enabled = admin.enable(stored.value());
        CHECK(enabled.refusal() == Refusal::overtaken);
        CHECK(enabled.message() == "another command has changed the new key");
    }
    SECTION("deleted meanwhile")
    {
        admin.world.hashes.erase(record_of(digest_of('s')));
        const auto enabled = admin.enable(stored.value());
        CHECK(enabled.refusal() == Refusal::overtaken);
        CHECK(enabled.message() == "another command has deleted the new key");
    }
    SECTION("discarded")
    {
        const auto gone = admin.discard(stored.value());
        REQUIRE_FALSE(gone.failed());
        CHECK(admin.world.hashes.count(record_of(digest_of('s'))) == 0);
        CHECK(admin.world.hashes["P:keys"].empty());
        CHECK(admin.world.hashes.count("P:account:ak1") == 0);
        CHECK(admin.world.hashes["P:accounts"].empty());
    }
    SECTION("discarded, with an account that is in use meanwhile")
    {
        admin.world.hashes["P:account:ak1"].erase("implicit");
        const auto gone = admin.discard(stored.value());
        REQUIRE_FALSE(gone.failed());
        CHECK(admin.world.hashes.count("P:account:ak1") == 1);
        CHECK(admin.world.hashes["P:accounts"].count("ak1") == 1);
    }
    SECTION("discarded, with an account that came with an earlier key")
    {
        admin.world.hashes["P:account:ak1"]["created"] = "1500000000";
        const auto gone = admin.discard(stored.value());
        REQUIRE_FALSE(gone.failed());
        CHECK(admin.world.hashes["P:account:ak1"].count("deleted") == 1);
        CHECK(admin.world.hashes["P:accounts"].count("ak1") == 1);
    }
    SECTION("discarded, after another command enabled and deleted it")
    {
        const auto enabled = admin.enable(stored.value());
        REQUIRE_FALSE(enabled.failed());
        REQUIRE_FALSE(admin.remove("k1").failed());
        const auto gone = admin.discard(stored.value());
        REQUIRE_FALSE(gone.failed());
        // It may have usage.
        CHECK(admin.world.hashes["P:account:ak1"].count("deleted") == 1);
        CHECK(admin.world.hashes["P:accounts"].count("ak1") == 1);
    }
}

TEST_CASE("changing a key can be repeated after any lost reply", "[store]")
{
    std::int64_t before = 0;
    at_each_command<Admin>(
        40,
        [&](Admin& admin) {
            REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
            before = admin.epoch("ak1");
        },
        [&](Admin& admin) {
            const std::string epoch = admin.record('s').at("epoch");
            const auto changed = admin.set_label("k1");
            if (changed.failed()) {
                // What was written is not yet in effect.
                CHECK((admin.record('s').at("epoch") == epoch
                       || changed.failure().not_in_effect));
                return false;
            }
            CHECK(changed.value().label == "new");
            return true;
        },
        [&](Admin& admin) {
            CHECK(admin.record('s').at("label") == "new");
            CHECK(admin.epoch("ak1") > before);
        });
}

TEST_CASE("a change is made again if another write was faster", "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    bool raced = false;
    admin.world.before = [&](const KeyWorld::Words& command) {
        if (command[0] == "EVALSHA" && !raced) {
            raced = true;
            admin.record('s')["epoch"] = "9000";
            admin.record('s')["plan"] = "pro";
        }
    };
    const auto changed = admin.set_label("k1");
    REQUIRE_FALSE(changed.failed());
    CHECK(admin.changes == 2);
    CHECK(changed.value().plan == "pro");
    CHECK(admin.record('s').at("label") == "new");
    CHECK(admin.record('s').at("plan") == "pro");
}

TEST_CASE("a change that is invalid writes nothing", "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    const auto record = admin.record('s');
    const auto changed = admin.run(
        store::update_key(admin.world.links(), "k1", [](api::KeyRecord&) {
            throw store::invalid({{api::ErrorCode::invalid_field, "no"}});
        }));
    CHECK(changed.message() == "no");
    CHECK(admin.record('s') == record);
}

TEST_CASE("an unknown key is refused", "[store]")
{
    Admin admin;
    CHECK(admin.find("k1").refusal() == Refusal::not_found);
    CHECK(admin.set_label("k1").refusal() == Refusal::not_found);
    CHECK(admin.remove("k1").refusal() == Refusal::not_found);
    CHECK(admin.find("k1").message() == "there is no key with this id");
    const auto found = admin.find(digest_of('s'));
    CHECK_FALSE(found.value());

    // An entry that leads to no record, or to another key's.
    const auto hex = api::to_hex(api::bytes_of(digest_of('s')));
    admin.world.hashes["P:keys"]["k1"] = hex;
    CHECK(admin.find("k1").refusal() == Refusal::not_found);
    REQUIRE_FALSE(admin.add(new_key('s', "k2")).failed());
    CHECK(admin.find("k1").refusal() == Refusal::not_found);
    CHECK_FALSE(admin.find("k2").failed());
}

TEST_CASE("what is damaged is named", "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    admin.record('s')["plan"] = "No Plan";
    CHECK(admin.find("k1").message() == "the record of key k1 is damaged");
    CHECK(admin.set_label("k1").refusal() == Refusal::damaged);
    CHECK(admin.find(digest_of('s')).message()
          == "the record of this key is damaged");

    admin.world.hashes["P:keys"]["k1"] = "zz";
    CHECK(admin.find("k1").message()
          == "the entry of key k1 in P:keys is damaged");
    CHECK(admin.remove("k1").refusal() == Refusal::damaged);
}

TEST_CASE("removing a key can be repeated after any lost reply", "[store]")
{
    std::int64_t before = 0;
    at_each_command<Admin>(
        40,
        [&](Admin& admin) {
            REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
            before = admin.epoch("ak1");
        },
        [&](Admin& admin) {
            const auto removed = admin.remove("k1");
            if (!removed.failed()) {
                return true;
            }
            const auto& failure = removed.failure();
            // The last reply may be lost after the entry was removed.
            return failure.refusal == Refusal::not_found;
        },
        [&](Admin& admin) {
            CHECK(admin.world.hashes.count(record_of(digest_of('s'))) == 0);
            CHECK(admin.world.hashes["P:keys"].empty());
            CHECK(admin.epoch("ak1") > before);
        });
}

TEST_CASE("an account that came with a key ends with its last keys", "[store]")
{
    for (int start = 1;; ++start) {
        REQUIRE(start < 40);
        CAPTURE(start);
        Admin admin;
        REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
        StoredKey other = new_key('t', "k2");
        other.record.account = "ak1";
        REQUIRE_FALSE(admin.restore(other).failed());
        REQUIRE(admin.accounts() == std::vector<std::string>{"ak1"});

        Result<store::Done> one;
        Result<store::Done> two;
        admin.world.number = 0;
        admin.world.before = [&](const KeyWorld::Words&) {
            if (admin.world.number == start) {
                store::run(admin.running,
                           store::remove_key(admin.world.links(), "k2"), two);
            }
        };
        store::run(admin.running, store::remove_key(admin.world.links(), "k1"),
                   one);
        admin.world.run();
        REQUIRE(one.calls == 1);
        if (two.calls == 0) {
            break;  // the first one has ended before
        }
        CHECK_FALSE(one.failed());
        CHECK_FALSE(two.failed());
        CHECK(admin.accounts().empty());
        CHECK(admin.world.sets["P:account-keys:ak1"].empty());
    }
}

TEST_CASE("a lost reply while a key is removed is not yet in effect", "[store]")
{
    for (int number = 2; number <= 6; ++number) {
        CAPTURE(number);
        Admin admin;
        REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
        admin.world.cut(number, KeyWorld::Lost::before);
        const auto removed = admin.remove("k1");
        REQUIRE(admin.world.was_cut());
        REQUIRE(removed.failed());
        CHECK(removed.failure().not_in_effect);
    }
}

TEST_CASE("a key that changes while it is removed is removed", "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    const auto script = GENERATE(0, 1);
    bool raced = false;
    admin.world.before = [&](const KeyWorld::Words& command) {
        const auto& sha = script == 0 ? store::scripts().write_record.sha1
                                      : store::scripts().delete_record.sha1;
        if (!raced && command.size() > 1 && command[1] == sha) {
            raced = true;
            admin.record('s')["epoch"] = "9000";
            admin.record('s')["disabled"] = "0";
        }
    };
    CHECK_FALSE(admin.remove("k1").failed());
    CHECK(raced);
    CHECK(admin.world.hashes.count(record_of(digest_of('s'))) == 0);
}

TEST_CASE("a damaged record is removed, and its account told", "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    const auto before = admin.epoch("ak1");
    admin.record('s')["plan"] = "No Plan";
    SECTION("with its account")
    {
        CHECK_FALSE(admin.remove("k1").failed());
        CHECK(admin.epoch("ak1") > before);
    }
    SECTION("without")
    {
        admin.record('s').erase("account");
        CHECK_FALSE(admin.remove("k1").failed());
    }
    CHECK(admin.world.hashes.count(record_of(digest_of('s'))) == 0);
    CHECK(admin.world.hashes["P:keys"].empty());
}

TEST_CASE("an entry that leads to another key's record is removed alone",
          "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    admin.world.hashes["P:keys"]["k2"] = admin.world.hashes["P:keys"].at("k1");
    CHECK_FALSE(admin.remove("k2").failed());
    CHECK(admin.world.hashes["P:keys"].size() == 1);
    CHECK_FALSE(admin.find("k1").failed());
}

TEST_CASE("restoring a key can be repeated after any lost reply", "[store]")
{
    auto key = new_key('s', "k1");
    key.record.disabled = true;
    key.record.label = "old";
    at_each_command<Admin>(
        40, [](Admin&) {},
        [&](Admin& admin) {
            const auto restored = admin.restore(key);
            return !restored.failed();
        },
        [](Admin& admin) {
            const auto& record = admin.record('s');
            CHECK(record.at("id") == "k1");
            CHECK(record.at("account") == "ak1");
            CHECK(record.at("label") == "old");
            CHECK(record.at("disabled") == "1");
            CHECK(record.count("unfinished") == 0);
            CHECK(admin.epoch("ak1") != 0);
            CHECK(admin.world.hashes.at("P:account:ak1").at("plan") == "pro");
            CHECK(admin.world.sets.at("P:account-keys:ak1").size() == 1);
        });
}

TEST_CASE("what exists is not restored", "[store]")
{
    Admin admin;
    const auto first = admin.restore(new_key('s', "k1"));
    CHECK(first.value());
    CHECK_FALSE(admin.restore(new_key('s', "k1")).value());
    CHECK(admin.restore(new_key('s', "k2")).message()
          == "this key exists already, its id is k1");
    CHECK(admin.restore(new_key('t', "k1")).message()
          == "another key has the id k1");
}

TEST_CASE("keys are listed with what is wrong in the index", "[store]")
{
    Admin admin;
    CHECK(admin.list().keys.empty());
    for (const char c : {'a', 'b', 'c', 'd'}) {
        auto key = new_key(c, std::string("k") + c);
        key.record.created -= c;  // the last one is the oldest
        REQUIRE_FALSE(admin.add(key).failed());
    }
    admin.record('a')["plan"] = "No Plan";
    admin.world.hashes.erase(record_of(digest_of('b')));
    admin.world.hashes["P:keys"]["kx"] = "zz";
    const auto listing = admin.list();
    REQUIRE(listing.keys.size() == 2);
    CHECK(listing.keys[0].record.id == "kd");
    CHECK(listing.keys[1].record.id == "kc");
    CHECK(listing.damaged == std::vector<std::string>{"ka"});
    CHECK(listing.missing == std::vector<std::string>{"kb"});
    CHECK(listing.damaged_entries == std::set<std::string>{"kx"});
    CHECK(listing.unread.empty());
}

TEST_CASE("a list reads many records at once, but not all", "[store]")
{
    Admin admin;
    constexpr int kKeys = 1000;
    for (int i = 0; i < kKeys; ++i) {
        const std::string id = "k" + std::to_string(i);
        const auto digest = api::sha256(id);
        admin.world.hashes["P:keys"][id] = api::to_hex(api::bytes_of(digest));
        admin.world.hashes[record_of(digest)] = {{"id", id}, {"account", "a1"}};
    }
    SECTION("all are there")
    {
        CHECK(admin.list().keys.size() == kKeys);
        CHECK(admin.world.most_at_once == KeyListing::kAtOnce);
        CHECK(admin.world.count("HGETALL") == kKeys);
    }
    SECTION("a server of a Cluster is away, and is asked once")
    {
        for (int i = 0; i < kKeys; i += 2) {
            admin.world.away.insert(
                record_of(api::sha256("k" + std::to_string(i))));
        }
        const auto listing = admin.list();
        CHECK(listing.keys.size() == kKeys / 2);
        CHECK(listing.unread.size() == kKeys / 2);
        CHECK(admin.world.count("HGETALL")
              < kKeys / 2 + static_cast<int>(KeyListing::kAtOnce));
    }
    SECTION("the connection is lost")
    {
        admin.world.cut(10, KeyWorld::Lost::before);
        const auto listed = admin.run(store::list_keys(admin.world.links()));
        CHECK(listed.failed());
        CHECK(admin.world.count("HGETALL")
              == static_cast<int>(KeyListing::kAtOnce) + 8);
    }
    SECTION("the user may not read")
    {
        admin.world.replies["HGETALL"] = "-NOPERM no\r\n";
        const auto listed = admin.run(store::list_keys(admin.world.links()));
        CHECK(listed.failed());
        CHECK(listed.refusal() == Refusal::none);
    }
}

TEST_CASE("a key is announced where its account is", "[store]")
{
    KeyWorld accounts;
    Admin admin;
    Result<StoredKey> added;
    store::run(admin.running,
               store::add_key({admin.world, accounts, admin.world.schema},
                              new_key('s', "k1"), std::nullopt),
               added);
    for (int i = 0; i < 10; ++i) {
        admin.world.run();
        accounts.run();
    }
    REQUIRE(added.calls == 1);
    CHECK_FALSE(added.failed());
    CHECK(accounts.count("EVALSHA") == 2);
    CHECK(admin.epoch("ak1") == 0);
    CHECK(accounts.epochs.count("P:{ak1}:state") == 1);
}

TEST_CASE("a new key of an account in use does not make workers read its "
          "other keys again",
          "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    const store::AccountName owner{"ak1", {}};
    const auto create = [&](char secret, const std::string& id,
                            store::SecretOrigin from =
                                store::SecretOrigin::generated) {
        const auto stored = admin.run(
            store::store_key(admin.world.links(), new_key(secret, id), owner));
        REQUIRE_FALSE(admin.enable(stored.value(), from).failed());
        CHECK(admin.record(secret).at("disabled") == "0");
    };
    const auto unused = admin.epoch("ak1");
    create('t', "k2");
    const auto before = admin.epoch("ak1");
    CHECK(before != unused);

    admin.world.charged.insert("P:{ak1}:state");
    create('u', "k3");
    CHECK(admin.epoch("ak1") == before);
    // Workers may know a secret that was given.
    create('v', "k4", store::SecretOrigin::imported);
    CHECK(admin.epoch("ak1") != before);
}

TEST_CASE("of two deletions of a key at once each ends", "[store]")
{
    const bool implicit = GENERATE(true, false);
    for (int start = 1;; ++start) {
        REQUIRE(start < 40);
        CAPTURE(implicit, start);
        Admin admin;
        REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
        if (!implicit) {
            admin.world.hashes["P:account:ak1"].erase("implicit");
        }
        const int before = admin.world.number;
        Result<store::Done> one;
        Result<store::Done> two;
        // The second one begins at a command of the first.
        admin.world.before = [&](const KeyWorld::Words&) {
            if (admin.world.number == before + start) {
                store::run(admin.running,
                           store::remove_key(admin.world.links(), "k1"), two);
            }
        };
        store::run(admin.running, store::remove_key(admin.world.links(), "k1"),
                   one);
        admin.world.run();
        REQUIRE(one.calls == 1);
        CHECK_FALSE(one.failed());
        if (two.calls == 0) {
            CHECK(start > 5);
            break;
        }
        CHECK((!two.failed() || two.refusal() == Refusal::not_found));
        CHECK(admin.world.number - before < 60);
        CHECK(admin.world.hashes.count(record_of(digest_of('s'))) == 0);
        CHECK(admin.world.hashes["P:keys"].empty());
        CHECK(admin.accounts().size() == (implicit ? 0 : 1));
    }
}

TEST_CASE("changes that others undo in each round end", "[store]")
{
    Admin admin;
    REQUIRE_FALSE(admin.add(new_key('s', "k1")).failed());
    int epoch = 9000;
    admin.world.before = [&](const KeyWorld::Words& command) {
        if (command[0] == "EVALSHA") {
            admin.record('s')["epoch"] = std::to_string(++epoch);
            admin.record('s')["disabled"] = "0";
        }
    };
    const bool removes = GENERATE(true, false);
    if (removes) {
        CHECK(admin.remove("k1").failed());
    } else {
        CHECK(admin.set_label("k1").failed());
    }
    CHECK(admin.record('s').at("id") == "k1");
}
