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
        run(store::add_key(world.links(), key, std::nullopt));
        set_old("plan", "pro");
    }

    static Rotation rotation() { return {}; }

    Begun begin(Rotation& rotation, const std::string& id)
    {
        return run(store::begin_rotation(world.links(), rotation.id,
                                         key_of("secret of " + id, id), clock,
                                         rotation.watched));
    }

    Result<api::KeyRecord> finish(const Rotation& rotation, StoredKey next,
                                  std::int64_t grace = 60)
    {
        auto finished = run(
            store::finish_rotation(world.links(), rotation.id, next, grace));
        answered = next.record;
        return finished;
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

    Result<api::KeyRecord> set_old_disabled(bool disabled)
    {
        return run(store::update_key(
            world.links(), "old",
            [&](api::KeyRecord& record) { record.disabled = disabled; }));
    }
    Result<store::Done> remove_old()
    {
        return run(store::remove_key(world.links(), "old"));
    }
    // Its command number `at` and all later ones do not reach Redis.
    Result<store::Done> remove_old_until(int at)
    {
        world.cut(at, KeyWorld::Lost::before);
        auto removed = remove_old();
        world.cut(0, KeyWorld::Lost::before);
        return removed;
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
    api::KeyRecord answered;  // the new key, as finish() left it
};

// A whole rotation, as a request makes it.
store::Task<StoredKey> rotate(Rotations& rotations)
{
    store::WatchedClaim watched;
    StoredKey next = key_of("secret of new", "new");
    auto begun = co_await store::begin_rotation(rotations.world.links(), "old",
                                                next, rotations.clock, watched);
    if (!begun) {
        throw store::refused(Refusal::already_rotated,
                             api::ErrorCode::bad_request, "claimed");
    }
    next = std::move(*begun);
    co_await store::finish_rotation(rotations.world.links(), "old", next, 60);
    co_return next;
}

// Runs `task` from each command of a rotation on, and `check` after both.
template <typename T, typename Make, typename Check>
void at_each_command_of_rotation(const Make& make, const Check& check)
{
    for (int start = 1;; ++start) {
        REQUIRE(start < 60);
        CAPTURE(start);
        Rotations r;
        const int before = r.world.number;
        Result<StoredKey> rotated;
        Result<T> other;
        r.world.before = [&](const KeyWorld::Words&) {
            if (r.world.number == before + start) {
                store::run(r.running, make(r), other);
            }
        };
        store::run(r.running, rotate(r), rotated);
        r.world.run();
        REQUIRE(rotated.calls == 1);
        if (other.calls == 0) {
            CHECK(start > 10);
            break;
        }
        CHECK(r.world.number - before < 120);
        check(r, rotated, other);
    }
}

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
    CHECK(finished.value().expires == r.world.time + 61);
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
    const auto abandoned = r.run(
        store::abandon_rotation(r.world.links(), rotation.id, *begun.value()));
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

TEST_CASE("a change of the old key during its rotation is not lost", "[store]")
{
    int carried = 0;
    at_each_command_of_rotation<api::KeyRecord>(
        [](Rotations& r) {
            return store::update_key(r.world.links(), "old",
                                     [](api::KeyRecord& record) {
                                         api::set_scopes(record, "read");
                                         record.plan = "business";
                                         record.per_minute = 5;
                                         record.label = "theirs";
                                         record.expires = 1'800'000'000;
                                     });
        },
        [&](Rotations& r, const auto& rotated, const auto& changed) {
            REQUIRE_FALSE(rotated.failed());
            REQUIRE_FALSE(changed.failed());
            CHECK(r.record("old").at("replaced_by") == "new");
            if (!changed.value().replaced_by.empty()) {
                return;  // it came after the rotation
            }
            ++carried;
            const auto next = r.record("new");
            CHECK(next.at("scopes") == "read");
            CHECK(next.at("plan") == "business");
            CHECK(next.at("per_minute") == "5");
            CHECK(next.at("label") == "theirs");
            CHECK(next.at("expires") == "1800000000");
            CHECK(next.at("disabled") == "0");
            CHECK(next.count("unfinished") == 0);
            const api::KeyRecord& answered = rotated.value().record;
            CHECK(answered.scopes == api::kScopeRead);
            CHECK(answered.label == "theirs");
        });
    CHECK(carried > 5);
}

TEST_CASE("a deletion of the old key during its rotation ends both", "[store]")
{
    int refused = 0;
    at_each_command_of_rotation<store::Done>(
        [](Rotations& r) { return store::remove_key(r.world.links(), "old"); },
        [&](Rotations& r, const auto& rotated, const auto& removed) {
            REQUIRE_FALSE(removed.failed());
            CHECK(r.record("old").empty());
            std::size_t records = 0;
            for (const auto& [name, hash] : r.world.hashes) {
                records += name.rfind("P:key:", 0) == 0 && !hash.empty();
            }
            const bool account_is_there =
                r.world.hashes["P:account:a1"].count("deleted") == 0;
            if (rotated.failed()) {
                ++refused;
                CHECK(rotated.refusal() == Refusal::not_found);
                CHECK(records == 0);
                CHECK(r.world.hashes["P:keys"].empty());
                CHECK_FALSE(account_is_there);
            } else {  // it came first
                CHECK(records == 1);
                CHECK(r.record("new").at("disabled") == "0");
                CHECK(account_is_there);
            }
        });
    CHECK(refused > 5);
}

TEST_CASE("an interrupted deletion of a key in rotation is completed",
          "[store]")
{
    at_each_command<Rotations>(
        60,
        [](Rotations& r) {
            auto rotation = Rotations::rotation();
            const auto begun = r.begin(rotation, "new");
            REQUIRE(begun.value());
            r.world.cut(2, KeyWorld::Lost::before);
            REQUIRE(r.finish(rotation, *begun.value()).failed());
            REQUIRE(r.record("new").at("disabled") == "0");
        },
        [](Rotations& r) {
            const auto removed = r.remove_old();
            return !removed.failed() || removed.refusal() == Refusal::not_found;
        },
        [](Rotations& r) {
            CHECK(r.record("old").empty());
            CHECK(r.record("new").empty());
            CHECK(r.world.hashes["P:keys"].empty());
            CHECK(r.world.hashes["P:account:a1"].count("deleted") == 1);
        });
}

TEST_CASE("a deletion that was interrupted leaves a key that can be rotated",
          "[store]")
{
    Rotations r;
    auto first = r.rotation();
    REQUIRE(r.begin(first, "one").value());
    REQUIRE(r.remove_old_until(4).failed());  // after the first write
    REQUIRE(r.record("old").at("disabled") == "1");
    r.set_old_disabled(false);
    auto second = r.rotation();
    CHECK_FALSE(r.begin(second, "two").value());
    r.clock.time += store::WatchedClaim::kTakeOverAfter;
    const auto taken = r.begin(second, "two");
    REQUIRE(taken.value());
    REQUIRE_FALSE(r.finish(second, *taken.value()).failed());
    r.check_rotated();
}

TEST_CASE("a rotation between two commands of a deletion is not found",
          "[store]")
{
    int refused = 0;
    for (int start = 1;; ++start) {
        REQUIRE(start < 60);
        CAPTURE(start);
        Rotations r;
        const int before = r.world.number;
        Result<StoredKey> rotated;
        r.world.before = [&](const KeyWorld::Words&) {
            if (r.world.number == before + start && rotated.calls == 0) {
                store::run(r.running, rotate(r), rotated);
                r.world.run();
            }
        };
        REQUIRE_FALSE(r.remove_old().failed());
        if (rotated.calls == 0) {
            CHECK(start > 5);
            break;
        }
        CHECK(r.record("old").empty());
        if (rotated.failed()) {
            ++refused;
            CHECK(rotated.refusal() == Refusal::not_found);
            CHECK(r.world.hashes["P:keys"].empty());
        } else {
            CHECK(r.record("new").at("disabled") == "0");
            CHECK(r.world.hashes["P:account:a1"].count("deleted") == 0);
        }
    }
    CHECK(refused > 5);
}

TEST_CASE("a rotation that a deletion overtook stays so if the key is enabled",
          "[store]")
{
    const int at = GENERATE(range(4, 30));  // after the first write
    CAPTURE(at);
    Rotations r;
    auto overtaken = r.rotation();
    const auto begun = r.begin(overtaken, "new");
    REQUIRE(begun.value());
    const auto removed = r.remove_old_until(at);
    if (!removed.failed()) {
        return;  // it has fewer commands
    }
    if (r.world.hashes["P:keys"].count("old") == 0) {
        return;  // it was complete but for its answer
    }
    const auto enabled = r.set_old_disabled(false);
    if (r.world.hashes["P:account:a1"].count("deleted") != 0) {
        CHECK(enabled.refusal() == Refusal::not_found);
        return;
    }
    REQUIRE_FALSE(enabled.failed());
    CHECK(r.finish(overtaken, *begun.value()).failed());
    CHECK(r.record("old").count("replaced_by") == 0);
    auto rotation = r.rotation();
    const auto first = r.begin(rotation, "newer");
    REQUIRE_FALSE(first.failed());
    CHECK_FALSE(first.value());
    r.clock.time += store::WatchedClaim::kTakeOverAfter;
    const auto again = r.begin(rotation, "newer");
    REQUIRE_FALSE(again.failed());
    REQUIRE(again.value());
    REQUIRE_FALSE(r.finish(rotation, *again.value()).failed());
    CHECK(r.record("old").at("replaced_by") == "newer");
    CHECK(r.world.hashes["P:keys"].size() == 2);
}

TEST_CASE("a key whose deletion was interrupted is rotated once it is enabled",
          "[store]")
{
    Rotations r;
    const bool unfinished = GENERATE(false, true);
    if (unfinished) {
        r.set_old("unfinished", "1");
        r.set_old("disabled", "1");
    }
    REQUIRE(r.remove_old_until(4).failed());  // after the first write
    auto rotation = r.rotation();
    const auto refused = r.begin(rotation, "new");
    REQUIRE(refused.failed());
    CHECK(refused.refusal() == Refusal::not_found);
    CHECK(
        refused.message()
        == "the deletion of key old has begun: delete it again, or enable it");
    CHECK(r.world.hashes["P:keys"].size() == 1);

    SECTION("enabled")
    {
        REQUIRE_FALSE(r.set_old_disabled(false).failed());
        CHECK(r.record("old").count("successors") == 0);
        const bool disabled = GENERATE(false, true);
        if (disabled) {
            REQUIRE_FALSE(r.set_old_disabled(true).failed());
        }
        const auto begun = r.begin(rotation, "new");
        REQUIRE(begun.value());
        REQUIRE_FALSE(r.finish(rotation, *begun.value()).failed());
        CHECK(r.record("old").at("replaced_by") == "new");
        CHECK(r.record("new").at("disabled") == (disabled ? "1" : "0"));
    }
    SECTION("deleted")
    {
        REQUIRE_FALSE(r.remove_old().failed());
        CHECK(r.world.hashes["P:keys"].empty());
    }
}

TEST_CASE("a deletion of a rotated key leaves the new one", "[store]")
{
    at_each_command<Rotations>(
        60,
        [](Rotations& r) {
            auto rotation = Rotations::rotation();
            const auto begun = r.begin(rotation, "new");
            REQUIRE_FALSE(r.finish(rotation, *begun.value()).failed());
        },
        [](Rotations& r) {
            const auto removed = r.remove_old();
            return !removed.failed() || removed.refusal() == Refusal::not_found;
        },
        [](Rotations& r) {
            CHECK(r.record("old").empty());
            CHECK(r.record("new").at("disabled") == "0");
            CHECK(r.world.hashes["P:account:a1"].count("deleted") == 0);
        });
}

TEST_CASE("a change of the old key before its rotation is repeated counts",
          "[store]")
{
    Rotations r;
    auto rotation = r.rotation();
    REQUIRE(r.begin(rotation, "new").value());
    const bool finished = GENERATE(false, true);
    const auto stored = [&] {
        const auto there =
            r.run(store::find_optional(r.world.links(), std::string("new")));
        return *there.value();
    };
    if (finished) {
        const StoredKey next = stored();
        r.world.cut(2, KeyWorld::Lost::before);
        REQUIRE(r.finish(rotation, next).failed());
        r.world.cut(0, KeyWorld::Lost::before);
        REQUIRE(r.record("new").count("unfinished") == 0);
    }
    SECTION("that of the old key")
    {
        r.run(store::update_key(
            r.world.links(), "old",
            [](api::KeyRecord& record) { api::set_scopes(record, "read"); }));
        const auto again = r.run(store::begin_rotation(
            r.world.links(), "old", stored(), r.clock, rotation.watched));
        REQUIRE(again.value());
        REQUIRE_FALSE(r.finish(rotation, *again.value()).failed());
        CHECK(r.record("new").at("scopes") == "read");
        CHECK(r.answered.scopes == api::kScopeRead);
    }
    SECTION("but not against a later one of the new key")
    {
        if (!finished) {
            return;
        }
        r.run(store::update_key(r.world.links(), "new",
                                [](api::KeyRecord& record) {
                                    api::set_scopes(record, "read");
                                    record.disabled = true;
                                }));
        const auto again = r.run(store::begin_rotation(
            r.world.links(), "old", stored(), r.clock, rotation.watched));
        REQUIRE(again.value());
        REQUIRE_FALSE(r.finish(rotation, *again.value()).failed());
        CHECK(r.record("new").at("scopes") == "read");
        CHECK(r.record("new").at("disabled") == "1");
    }
}

TEST_CASE("the successor of an unfinished key works", "[store]")
{
    Rotations r;
    r.set_old("unfinished", "1");
    r.set_old("disabled", "1");
    auto rotation = r.rotation();
    const auto begun = r.begin(rotation, "new");
    REQUIRE(begun.value());
    REQUIRE_FALSE(r.finish(rotation, *begun.value()).failed());
    CHECK(r.record("new").at("disabled") == "0");
    CHECK(r.record("new").count("unfinished") == 0);
    CHECK(r.record("old").at("disabled") == "1");
}
