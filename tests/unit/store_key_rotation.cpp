#include "catch.h"

#include <functional>
#include <optional>
#include <string>

#include "api/text.h"
#include "key_world.h"
#include "store/keys/key_administration.h"
#include "store/keys/key_rotation.h"

using namespace petstore;
using store::Refusal;
using store::StoredKey;

namespace {

struct TestClock final : store::Clock {
    store::Monotonic monotonic() const noexcept override { return time; }
    api::Millis host_time() const noexcept override { return 0; }
    store::Monotonic time = 5000;
};

StoredKey key_of(const std::string& secret, const std::string& id)
{
    StoredKey key(api::sha256(secret));
    key.record.id = id;
    key.record.created = 1'600'000'000;
    key.record.last4 = secret.substr(0, 4);
    return key;
}

using Begun = Result<std::optional<StoredKey>>;

// A store with the key "old" of account "a1".
struct Rotations : InKeyWorld {
    // One of the rotations of a key.
    struct Rotation {
        std::string id = "old";
        store::WatchedClaim watched = {};
    };

    Rotations()
    {
        auto key = key_of("secret", "old");
        key.record.account = "a1";
        key.record.label = "mine";
        run(store::add_key(world.servers(), key, std::nullopt));
        set_old("plan", "pro");
    }

    static Rotation rotation() { return {}; }

    Begun begin(Rotation& rotation, const std::string& id)
    {
        return run(store::begin_rotation(world.servers(), rotation.id,
                                         key_of("secret of " + id, id), clock,
                                         rotation.watched));
    }

    Result<api::KeyRecord> finish(const Rotation& rotation,
                                  const StoredKey& next,
                                  std::int64_t grace = 60)
    {
        return run(
            store::finish_rotation(world.servers(), rotation.id, next, grace));
    }

    KeyWorld::Hash record(const std::string& id)
    {
        const auto& index = world.hashes["P:keys"];
        const auto entry = index.find(id);
        return entry == index.end() ? KeyWorld::Hash()
                                    : world.hashes["P:key:" + entry->second];
    }
    void set_old(const std::string& field, const std::string& value)
    {
        world.hashes["P:key:" + world.hashes["P:keys"].at("old")][field] =
            value;
    }

    // Whether exactly one key besides the old one works, and the old one ends.
    void check_rotated()
    {
        const auto old = record("old");
        REQUIRE(old.count("replaced_by") == 1);
        CHECK(old.count("expires") == 1);
        CHECK(old.count("successors") == 0);
        CHECK(world.hashes["P:keys"].size() == 2);
        const auto next = record(old.at("replaced_by"));
        CHECK(next.at("disabled") == "0");
        CHECK(next.count("unfinished") == 0);
        CHECK(next.at("account") == "a1");
        CHECK(next.at("plan") == "pro");
    }

    TestClock clock;
};

// A rotation that has begun, after which the old key was disabled.
struct DisabledMeanwhile : Rotations {
    DisabledMeanwhile()
    {
        REQUIRE(begun.value());
        set_old("disabled", "1");
    }

    // Calls `change` once, when the new key is finished, before the command
    // whose word at `place` is the name of that key's record.
    void before(const std::string& command, std::size_t place,
                const std::function<void()>& change)
    {
        world.before = [=, this](const KeyWorld::Words& words) {
            if (!changed && words[0] == command && words[place] == name
                && record("new").count("unfinished") == 0) {
                changed = true;
                change();
            }
        };
    }

    Rotation rotating;
    Begun begun = begin(rotating, "new");
    std::string name = "P:key:" + world.hashes["P:keys"].at("new");
    bool changed = false;
};

}  // namespace

TEST_CASE("a rotation replaces a key by one of the same properties", "[store]")
{
    Rotations r;
    auto rotation = r.rotation();
    const auto begun = r.begin(rotation, "new");
    REQUIRE_FALSE(begun.failed());
    REQUIRE(begun.value());
    // Until it is finished, only the old key works.
    CHECK(r.record("new").at("disabled") == "1");
    CHECK(r.record("new").at("unfinished") == "1");
    CHECK(r.record("old").count("expires") == 0);

    const auto finished = r.finish(rotation, *begun.value());
    REQUIRE_FALSE(finished.failed());
    CHECK(finished.value().expires == r.world.time + 60);
    CHECK(finished.value().replaced_by == "new");
    r.check_rotated();
    CHECK(r.record("new").at("label") == "mine");
    CHECK(r.record("new").at("last4") == "secr");
}

TEST_CASE("the successor of a disabled key is disabled", "[store]")
{
    Rotations r;
    auto rotation = r.rotation();
    const bool meanwhile = GENERATE(false, true);
    if (!meanwhile) {
        r.set_old("disabled", "1");
    }
    const auto begun = r.begin(rotation, "new");
    REQUIRE_FALSE(begun.failed());
    REQUIRE(begun.value());
    if (meanwhile) {
        r.set_old("disabled", "1");
    }
    REQUIRE_FALSE(r.finish(rotation, *begun.value()).failed());
    CHECK(r.record("old").at("replaced_by") == "new");
    CHECK(r.record("new").at("disabled") == "1");
    CHECK(r.record("new").count("unfinished") == 0);
}

TEST_CASE("a successor that another attempt has finished is disabled",
          "[store]")
{
    Rotations r;
    auto rotation = r.rotation();
    const auto begun = r.begin(rotation, "new");
    REQUIRE(begun.value());
    r.world.cut(2, KeyWorld::Lost::before);  // dies after it finished the key
    REQUIRE(r.finish(rotation, *begun.value()).failed());
    REQUIRE(r.record("new").count("unfinished") == 0);
    r.world.cut(0, KeyWorld::Lost::before);
    r.set_old("disabled", "1");
    const auto before = r.world.epochs.at("P:{a1}:state");
    REQUIRE_FALSE(r.finish(rotation, *begun.value()).failed());
    CHECK(r.record("old").at("replaced_by") == "new");
    CHECK(r.record("new").at("disabled") == "1");
    CHECK(r.world.epochs.at("P:{a1}:state") > before);
}

TEST_CASE("a successor that changes while it is disabled is disabled",
          "[store]")
{
    DisabledMeanwhile r;
    r.before("EVALSHA", 3, [&] {
        r.world.hashes[r.name]["epoch"] = "9000";
        r.world.hashes[r.name]["label"] = "theirs";
    });
    REQUIRE_FALSE(r.finish(r.rotating, *r.begun.value()).failed());
    CHECK(r.changed);
    CHECK(r.record("new").at("disabled") == "1");
    CHECK(r.record("new").at("label") == "theirs");
}

TEST_CASE("a key whose successor is removed while that is disabled stays",
          "[store]")
{
    DisabledMeanwhile r;
    r.before("HGETALL", 1, [&] {
        r.world.hashes.erase(r.name);
        r.world.hashes["P:keys"].erase("new");
    });
    const auto finished = r.finish(r.rotating, *r.begun.value());
    CHECK(r.changed);
    REQUIRE(finished.failed());
    CHECK(finished.refusal() == Refusal::overtaken);
    CHECK(r.record("old").count("replaced_by") == 0);
    CHECK(r.record("old").count("expires") == 0);
    CHECK(r.world.hashes["P:keys"].size() == 1);
}

TEST_CASE("a key that expires earlier than the grace period keeps its end",
          "[store]")
{
    Rotations r;
    const auto soon = r.world.time + 10;
    r.set_old("expires", std::to_string(soon));
    auto rotation = r.rotation();
    const auto begun = r.begin(rotation, "new");
    CHECK(r.finish(rotation, *begun.value()).value().expires == soon);
}

TEST_CASE("keys that cannot be rotated are refused", "[store]")
{
    Rotations r;
    auto rotation = r.rotation();
    SECTION("rotated before, and announced again")
    {
        r.set_old("replaced_by", "k9");
        const auto before = r.world.epochs.at("P:{a1}:state");
        const auto begun = r.begin(rotation, "new");
        CHECK(begun.refusal() == Refusal::already_rotated);
        CHECK_FALSE(begun.failure().not_in_effect);
        CHECK(
            begun.message()
            == "key old was rotated before, and key k9, which replaced it, is deleted: create another key");
        CHECK(r.world.epochs.at("P:{a1}:state") > before);

        r.world.hashes["P:keys"]["k9"] = std::string(64, '9');
        CHECK(
            r.begin(rotation, "new").message()
            == "key old was rotated before: rotate key k9, which replaced it");
        r.world.hashes["P:keys"].erase("k9");
    }
    SECTION("expired")
    {
        r.set_old("expires", std::to_string(r.world.time));
        const auto begun = r.begin(rotation, "new");
        CHECK(begun.refusal() == Refusal::expired);
        CHECK(begun.message() == "key old has expired");
    }
    SECTION("unknown")
    {
        Rotations::Rotation other{"k9"};
        CHECK(r.begin(other, "new").refusal() == Refusal::not_found);
    }
    CHECK(r.world.hashes["P:keys"].size() == 1);
}

TEST_CASE("a claim is taken over after a second without progress", "[store]")
{
    Rotations r;
    auto first = r.rotation();
    const auto claimed = r.begin(first, "one");
    REQUIRE(claimed.value());

    auto second = r.rotation();
    CHECK_FALSE(r.begin(second, "two").value());
    r.clock.time += store::WatchedClaim::kTakeOverAfter - 1;
    CHECK_FALSE(r.begin(second, "two").value());
    CHECK(r.record("one").count("id") == 1);
    r.clock.time += 1;
    const auto taken = r.begin(second, "two");
    REQUIRE(taken.value());
    CHECK(r.record("one").empty());

    // The first one fails, and the second one succeeds.
    const auto late = r.finish(first, *claimed.value());
    CHECK(late.refusal() == Refusal::overtaken);
    CHECK(late.message()
          == "key old was rotated or deleted by another command");
    REQUIRE_FALSE(r.finish(second, *taken.value()).failed());
    r.check_rotated();
}

TEST_CASE("a claim that makes progress is watched anew", "[store]")
{
    Rotations r;
    auto first = r.rotation();
    REQUIRE(r.begin(first, "one").value());
    auto second = r.rotation();
    CHECK_FALSE(r.begin(second, "two").value());
    r.clock.time += store::WatchedClaim::kTakeOverAfter;
    const std::string other(64, 'a');
    r.set_old("successors", "k8:" + other + " one:" + other);
    CHECK_FALSE(r.begin(second, "two").value());
    r.clock.time += store::WatchedClaim::kTakeOverAfter;
    CHECK(r.begin(second, "two").value());
}

TEST_CASE("a claim is made again if another write was faster", "[store]")
{
    Rotations r;
    bool raced = false;
    r.world.before = [&](const KeyWorld::Words& command) {
        if (!raced && command[0] == "EVALSHA") {
            raced = true;
            r.set_old("epoch", "9000");
            r.set_old("label", "theirs");
        }
    };
    auto rotation = r.rotation();
    REQUIRE(r.begin(rotation, "new").value());
    CHECK(r.record("new").at("label") == "theirs");
}

TEST_CASE("an abandoned rotation leaves the old key as it was", "[store]")
{
    Rotations r;
    auto rotation = r.rotation();
    const auto begun = r.begin(rotation, "new");
    const auto abandoned = r.run(store::abandon_rotation(
        r.world.servers(), rotation.id, *begun.value()));
    CHECK_FALSE(abandoned.failed());
    CHECK(r.world.hashes["P:keys"].size() == 1);
    CHECK(r.record("old").count("successors") == 0);
    CHECK(r.record("old").count("expires") == 0);
}

TEST_CASE("a rotation can be repeated after any lost reply", "[store]")
{
    for (const auto how : {KeyWorld::Lost::before, KeyWorld::Lost::after}) {
        for (int number = 1;; ++number) {
            REQUIRE(number < 40);
            CAPTURE(number, how == KeyWorld::Lost::after);
            Rotations r;
            r.world.cut(number, how);
            auto first = r.rotation();
            const auto begun = r.begin(first, "one");
            if (!begun.failed()) {
                r.finish(first, *begun.value());
            }
            const bool cut = r.world.was_cut();
            r.world.cut(0, how);
            auto second = r.rotation();
            auto again = r.begin(second, "two");
            if (!again.failed() && !again.value()) {
                r.clock.time += store::WatchedClaim::kTakeOverAfter;
                again = r.begin(second, "two");
            }
            if (again.failed()) {
                CHECK(again.refusal() == Refusal::already_rotated);
            } else {
                REQUIRE(again.value());
                CHECK_FALSE(r.finish(second, *again.value()).failed());
            }
            r.check_rotated();
            if (!cut) {
                CHECK(number > 8);
                break;
            }
        }
    }
}
