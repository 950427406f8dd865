#include "catch.h"

#include <memory>
#include <vector>

#include "fake_link.h"
#include "recorded_damage.h"
#include "store/pets/version_queue.h"

using namespace petstore;
using redis::NoReply;
using store::Version;
using store::VersionInGeneration;

namespace {

struct Waiter final : store::Waiter<VersionInGeneration> {
    void on_result(
        const store::Outcome<VersionInGeneration>& outcome) noexcept override
    {
        ++calls;
        failed = outcome.failed();
        if (!failed) {
            count = outcome.value().version.count;
        }
    }

    int calls = 0;
    api::PetId count = -1;
    bool failed = false;
};

struct Fixture {
    Waiter& read()
    {
        waiters.push_back(std::make_unique<Waiter>());
        queue.read(*waiters.back());
        return *waiters.back();
    }

    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    FakeLink link;
    RecordedDamage log;
    petstore::metrics::CacheLookups lookups;
    store::ReadCache cache{{link, catalogue, log}, lookups, 1 << 20};
    store::VersionQueue queue{link, cache};
    std::vector<std::unique_ptr<Waiter>> waiters;
};

const std::string kVersion = array({bulk("3"), bulk("5")});

}  // namespace

TEST_CASE("the requests of an iteration share one command for the version",
          "[store]")
{
    Fixture f;
    auto& first = f.read();
    auto& second = f.read();
    CHECK(f.link.sent.size() == 1);
    f.link.end_iteration();
    auto& third = f.read();
    REQUIRE(f.link.sent.size() == 2);
    f.link.reply(kVersion);
    CHECK(first.count == 3);
    CHECK(second.count == 3);
    CHECK(third.calls == 0);
    f.link.reply(array({bulk("4"), bulk("5")}));
    CHECK(third.count == 4);
    CHECK(first.calls == 1);
    CHECK(f.log.keys.empty());
}

TEST_CASE("a version that cannot be read fails every waiter", "[store]")
{
    Fixture f;
    auto& first = f.read();
    auto& second = f.read();
    SECTION("lost")
    {
        f.link.lose(NoReply::in_doubt);
    }
    SECTION("an error")
    {
        f.link.reply("-ERR x\r\n");
    }
    SECTION("malformed")
    {
        f.link.reply(array({bulk("3")}));
    }
    CHECK(first.failed);
    CHECK(second.failed);
    CHECK(first.calls == 1);
}

TEST_CASE("a version that cannot be sent fails at once, and is tried again",
          "[store]")
{
    Fixture f;
    f.link.full = true;
    CHECK(f.read().failed);
    f.link.full = false;
    auto& next = f.read();
    f.link.end_iteration();
    f.link.reply(kVersion);
    CHECK(next.count == 3);
}

TEST_CASE("a version that has arrived serves no request of the same iteration",
          "[store]")
{
    Fixture f;
    f.read();
    f.link.reply(kVersion);
    f.read();
    CHECK(f.link.sent.size() == 2);
}

TEST_CASE("a version is replaced by the latest of its history", "[store]")
{
    Fixture f;
    const auto old = f.cache.note({3, 5});
    CHECK(f.cache.latest_after(old)->count == 3);
    const auto next = f.cache.note({4, 6});
    CHECK(f.cache.latest_after(old)->count == 4);

    // A damaged version neither replaces a valid one nor is replaced by it.
    const auto damaged = f.cache.note({-1, 6});
    CHECK(f.cache.latest_after(damaged)->count == -1);
    CHECK(f.cache.latest_after(next)->count == 4);

    SECTION("a lost connection")
    {
        ++f.link.generation;
    }
    SECTION("a catalogue that was set back")
    {
        f.cache.note({2, 5});
    }
    CHECK_FALSE(f.cache.latest_after(old));
    CHECK_FALSE(f.cache.latest_after(damaged));
}
