#include "catch.h"

#include <memory>
#include <string>
#include <vector>

#include "fake_link.h"
#include "recorded_damage.h"
#include "store/pets/create_queue.h"
#include "store/scripts.h"

using namespace petstore;
using redis::NoReply;

namespace {

struct Waiter final : store::Waiter<store::CreatedPet> {
    void on_result(
        const store::Outcome<store::CreatedPet>& outcome) noexcept override
    {
        ++calls;
        if (const auto* failed = outcome.failure()) {
            failure = *failed;
        } else {
            id = outcome.value().id;
            replayed = outcome.value().replayed;
        }
    }

    int calls = 0;
    api::PetId id = 0;
    bool replayed = false;
    std::optional<store::Failure> failure;
};

struct Log final : store::EventLog {
    void report(store::Event event) noexcept override
    {
        full += event == store::Event::catalogue_full;
    }
    int full = 0;
};

struct Fixture {
    Waiter& add(const std::string& name, const std::string& key = {},
                redis::Link* durable = nullptr)
    {
        std::optional<store::Idempotency> idempotency;
        if (!key.empty()) {
            idempotency = {api::sha256(key), api::sha256(name)};
        }
        waiters.push_back(std::make_unique<Waiter>());
        queue.add({{name, 7, api::Status::sold},
                   "acc",
                   idempotency,
                   durable,
                   version},
                  *waiters.back());
        return *waiters.back();
    }

    // The names of the pets in each open command.
    std::vector<std::string> sent(const FakeLink& of) const
    {
        std::vector<std::string> all;
        for (const auto& command : of.commands) {
            REQUIRE(command[1]
                    == (command[0] == "EVAL"
                            ? std::string(store::scripts().create_pets.text)
                            : store::scripts().create_pets.sha1));
            std::string names;
            for (const auto& word : command) {
                names += word.substr(0, 3) == "s7:" ? word.substr(3) : "";
            }
            all.push_back(names);
        }
        return all;
    }
    std::vector<std::string> sent() const { return sent(link); }

    const store::Schema schema{"petstore"};
    FakeLink link;
    const store::PetCommands commands{schema};
    RecordedDamage damage;
    Log log;
    std::optional<store::Version> version;
    store::CreateQueue queue{{link, commands, damage}, link, log};
    std::vector<std::unique_ptr<Waiter>> waiters;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("create queue: the creates of an iteration share a call", "[store]")
{
    Fixture f;
    Waiter& a = f.add("a");
    Waiter& b = f.add("b");
    CHECK(f.sent().empty());
    f.link.end_iteration();
    CHECK(f.sent() == Names{"ab"});
    // Creates of the next iteration do not wait for the reply.
    Waiter& c = f.add("c");
    f.link.end_iteration();
    CHECK(f.sent() == Names{"ab", "c"});

    f.link.reply(array({integer(2), integer(7)}));
    CHECK(a.id == 7);
    CHECK_FALSE(a.replayed);
    CHECK(b.id == 8);
    CHECK(c.calls == 0);
    f.link.reply(array({integer(1), integer(9)}));
    CHECK(c.id == 9);
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
    }
}

TEST_CASE("create queue: creates with an Idempotency-Key have a separate call",
          "[store]")
{
    Fixture f;
    Waiter& a = f.add("a", "x");
    Waiter& b = f.add("b");
    Waiter& c = f.add("c", "y");
    Waiter& d = f.add("d");
    f.link.end_iteration();
    CHECK(f.sent() == Names{"ac", "bd"});
    f.link.reply(array({integer(1), integer(7), kNil, integer(3), integer(0)}));
    CHECK(a.replayed);
    CHECK(a.id == 3);
    CHECK_FALSE(c.replayed);
    CHECK(c.id == 7);
    CHECK(b.calls == 0);
    f.link.reply(array({integer(2), integer(8)}));
    CHECK(b.id == 8);
    CHECK(d.id == 9);
}

TEST_CASE("create queue: one Idempotency-Key is used in the order of requests",
          "[store]")
{
    Fixture f;
    for (const char* name : {"a", "b", "c"}) {
        f.add(name, "x");
    }
    f.add("d", "y");
    f.link.end_iteration();
    CHECK(f.sent() == Names{"a", "b", "cd"});
}

TEST_CASE("create queue: no request overtakes one of a full call", "[store]")
{
    Fixture f;
    f.add("a", "x");
    f.add("b", "x");
    for (std::size_t i = 1; i < store::PetBatch::kMaxPets; ++i) {
        f.add("b", std::to_string(i));
    }
    f.add("c", "1");
    f.link.end_iteration();
    CHECK(f.sent()
          == Names{"a", std::string(store::PetBatch::kMaxPets, 'b'), "c"});
}

TEST_CASE("create queue: a call has a bounded number of pets", "[store]")
{
    Fixture f;
    for (std::size_t i = 0; i < 2 * store::PetBatch::kMaxPets + 1; ++i) {
        f.add("a");
    }
    f.link.end_iteration();
    const std::string full(store::PetBatch::kMaxPets, 'a');
    CHECK(f.sent() == Names{full, full, "a"});
}

TEST_CASE("create queue: each link has separate calls", "[store]")
{
    Fixture f;
    FakeLink durable;
    FakeLink other;
    f.add("a");
    f.add("b", "x", &durable);
    f.add("c", "", &other);
    f.add("d", "y", &durable);
    f.link.end_iteration();
    CHECK(f.sent() == Names{"a"});
    CHECK(f.sent(durable) == Names{"bd"});
    CHECK(f.sent(other) == Names{"c"});
    // On a durable link, a repeated request must write, too.
    const auto before_last = [](const auto& words) {
        return words.at(words.size() - 2);
    };
    CHECK(before_last(durable.commands[0]) == "1");
    CHECK(before_last(f.link.commands[0]) == "s7:a");
}

TEST_CASE("create queue: a failed call fails all its requests", "[store]")
{
    Fixture f;
    f.add("a");
    f.add("b");
    SECTION("an error")
    {
        f.link.end_iteration();
        f.link.reply("-OOM x\r\n");
        for (const auto& waiter : f.waiters) {
            REQUIRE(waiter->failure);
            CHECK(waiter->failure->error.code
                  == api::ErrorCode::service_unavailable);
            CHECK_FALSE(waiter->failure->in_doubt);
        }
    }
    SECTION("no reply")
    {
        f.link.end_iteration();
        f.link.lose(NoReply::in_doubt);
        for (const auto& waiter : f.waiters) {
            REQUIRE(waiter->failure);
            CHECK(waiter->failure->error.code
                  == api::ErrorCode::outcome_unknown);
            CHECK(waiter->failure->in_doubt);
        }
    }
    SECTION("not sent")
    {
        f.link.full = true;
        f.link.end_iteration();
        for (const auto& waiter : f.waiters) {
            REQUIRE(waiter->failure);
            CHECK(waiter->failure->error.code
                  == api::ErrorCode::service_unavailable);
            CHECK_FALSE(waiter->failure->in_doubt);
        }
    }
    SECTION("a part of them")
    {
        f.link.end_iteration();
        f.link.reply(
            array({integer(1), integer(128), std::string("-DAMAGED b\r\n")}));
        CHECK(f.waiters[0]->id == 128);
        REQUIRE(f.waiters[1]->failure);
        CHECK(f.waiters[1]->failure->error.code
              == api::ErrorCode::internal_error);
        CHECK(f.damage.keys == Names{"b"});
    }
    for (const auto& waiter : f.waiters) {
        CHECK(waiter->calls == 1);
    }
    // Later creates are not affected.
    f.link.full = false;
    f.add("c");
    f.link.end_iteration();
    CHECK(f.sent() == Names{"c"});
}

TEST_CASE("create queue: an unknown script is sent once more as text",
          "[store]")
{
    Fixture f;
    Waiter& a = f.add("a");
    Waiter& b = f.add("b");
    f.link.end_iteration();
    f.link.reply("-NOSCRIPT x\r\n");
    CHECK(f.link.commands[0][0] == "EVAL");
    CHECK(f.sent() == Names{"ab"});
    f.link.reply(array({integer(2), integer(7)}));
    CHECK(a.id == 7);
    CHECK(b.id == 8);
}

TEST_CASE("create queue: a reused Idempotency-Key fails its request alone",
          "[store]")
{
    Fixture f;
    Waiter& a = f.add("a", "x");
    Waiter& b = f.add("b", "y");
    f.link.end_iteration();
    f.link.reply(
        array({integer(1), integer(7), kNil, integer(-1), integer(0)}));
    REQUIRE(a.failure);
    CHECK(a.failure->error.code == api::ErrorCode::idempotency_key_reused);
    CHECK_FALSE(a.failure->in_doubt);
    CHECK(b.id == 7);
}

TEST_CASE("create queue: a malformed reply leaves the outcome in doubt",
          "[store]")
{
    Fixture f;
    Waiter& a = f.add("a");
    f.link.end_iteration();
    f.link.reply(bulk("x"));
    REQUIRE(a.failure);
    CHECK(a.failure->error.code == api::ErrorCode::outcome_unknown);
    CHECK(a.failure->in_doubt);
}

TEST_CASE("create queue: a full catalogue is logged for each request",
          "[store]")
{
    Fixture f;
    f.add("a");
    f.add("b");
    f.link.end_iteration();
    f.link.reply("-FULL x\r\n");
    for (const auto& waiter : f.waiters) {
        REQUIRE(waiter->failure);
        CHECK(waiter->failure->error.code
              == api::ErrorCode::service_unavailable);
    }
    CHECK(f.log.full == 2);
    CHECK(f.damage.keys.empty());
}

TEST_CASE("create queue: nothing is created at a damaged version", "[store]")
{
    Fixture f;
    f.version = store::Version{7, 0};
    Waiter& a = f.add("a");
    f.link.end_iteration();
    CHECK(f.link.sent.empty());
    REQUIRE(a.failure);
    CHECK(a.failure->error.code == api::ErrorCode::internal_error);
    CHECK(f.damage.keys == Names{f.schema.changes()});
}
