// Pages of a rare status in a large catalogue: several sequential script calls.
#include "catch.h"

#include <string>

#include "fake_link.h"
#include "known_ids.h"
#include "read_waiter.h"
#include "recorded_damage.h"
#include "store/pets/reader.h"

using namespace petstore;
using redis::NoReply;
using store::Reader;
using store::ReadKey;
using store::Version;

namespace {

// The bits per call, and the last ids of the first two calls from id 0.
constexpr api::PetId kSpan = 8'388'608;
constexpr api::PetId kFirst = kSpan + 7;
constexpr api::PetId kSecond = kFirst + kSpan;

ReadKey sold(int limit)
{
    api::ListQuery query;
    query.status = api::Status::sold;
    query.limit = limit;
    return ReadKey::of_page(query);
}

struct Fixture {
    Fixture() { know_ids(cache); }

    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    FakeLink link;
    RecordedDamage log;
    metrics::CacheLookups lookups;
    store::ReadCache cache{{link, catalogue, log}, lookups, 1 << 20};
    store::VersionQueue versions{link, cache};
    Reader reader{cache, versions};
    ReadWaiter waiter;

    const store::CachedResponse& page() const { return response_of(waiter); }
    std::string failure() const
    {
        const auto* error = error_of(waiter);
        REQUIRE(error);
        return std::string(error->message.text());
    }

    // The open call's arguments: the id to start after, the count, and the end.
    std::vector<std::string> search() const
    {
        REQUIRE(link.commands.size() == 1);
        const auto& words = link.commands[0];
        REQUIRE(words.size() >= 9);
        std::vector<std::string> found = {words[4], words[5], words[8]};
        if (words.size() > 9) {
            found.push_back("more");
        }
        return found;
    }
};

using Words = std::vector<std::string>;

std::string rows(std::initializer_list<api::PetId> ids)
{
    std::vector<std::string> items;
    for (const auto id : ids) {
        items.push_back(integer(id));
        items.push_back(bulk("s1:x"));
    }
    return array(items);
}

std::string json(std::initializer_list<api::PetId> ids)
{
    std::string text;
    for (const auto id : ids) {
        text += (text.empty() ? "" : ",") + std::string("{\"id\":")
                + std::to_string(id)
                + R"(,"name":"x","categoryId":1,"status":"sold"})";
    }
    return "[" + text + "]";
}

std::string text(api::PetId id)
{
    return std::to_string(id);
}

}  // namespace

TEST_CASE("a search goes on until its page is full", "[store]")
{
    Fixture f;
    f.reader.read(sold(2), Version{3 * kSpan, 1}, f.waiter);
    CHECK(f.search() == Words{"0", "3", text(kFirst), "more"});
    f.link.reply(rows({5}));
    CHECK(f.waiter.results.empty());
    CHECK(f.search() == Words{text(kFirst), "2", text(kSecond), "more"});
    f.link.reply(rows({kFirst + 1, kSecond}));
    CHECK(f.link.sent.size() == 2);
    CHECK(f.page().body == json({5, kFirst + 1}));
    CHECK(f.page().next_after == kFirst + 1);
    CHECK_FALSE(f.page().is_last_page);
    CHECK(f.page().version.count == 3 * kSpan);
}

TEST_CASE("a search ends with the catalogue", "[store]")
{
    Fixture f;
    const api::PetId ends[] = {kFirst, kFirst + 1, kSecond, kSecond + 1};
    const auto end = ends[GENERATE(0, 1, 2, 3)];
    f.reader.read(sold(20), Version{end, 1}, f.waiter);
    int calls = 0;
    while (f.waiter.results.empty() && calls < 10) {
        ++calls;
        f.link.reply("*0\r\n");
    }
    CHECK(calls == 1 + (end > kFirst) + (end > kSecond));
    CHECK(f.page().body == "[]");
    CHECK(f.page().is_last_page);
}

TEST_CASE("a search ends with the bitmap", "[store]")
{
    Fixture f;
    f.reader.read(sold(20), Version{100 * kSpan, 1}, f.waiter);
    f.link.reply(array({integer(5), bulk("s1:x"), integer(0)}));
    CHECK(f.link.sent.size() == 1);
    CHECK(f.page().body == json({5}));
    CHECK(f.page().next_after == 0);
    CHECK(f.page().is_last_page);
}

TEST_CASE("a catalogue of 8 million pets takes one call", "[store]")
{
    Fixture f;
    f.reader.read(sold(20), Version{8'000'000, 1}, f.waiter);
    CHECK(f.search() == Words{"0", "21", text(kFirst)});
    f.link.reply("*0\r\n");
    CHECK(f.link.sent.size() == 1);
    CHECK(f.page().body == "[]");
}

TEST_CASE("a search goes on after the last row, if that is later", "[store]")
{
    Fixture f;
    f.reader.read(sold(20), Version{2 * kSpan, 1}, f.waiter);
    f.link.reply(rows({kFirst, kFirst + 100}));
    CHECK(f.search()[0] == text(kFirst + 100));
    f.link.reply("*0\r\n");
    CHECK(f.page().body == json({kFirst, kFirst + 100}));
}

TEST_CASE("a search accepts no repeated row and no invalid end", "[store]")
{
    Fixture f;
    f.reader.read(sold(20), Version{2 * kSpan, 1}, f.waiter);
    SECTION("a row of the first call")
    {
        f.link.reply(rows({5}));
        f.link.reply(rows({5}));
    }
    SECTION("a row that the first call should have had")
    {
        f.link.reply(rows({5}));
        f.link.reply(rows({kFirst}));
    }
    SECTION("an end that is not 0")
    {
        f.link.reply(array({integer(5), bulk("s1:x"), integer(1)}));
    }
    SECTION("an end of another type")
    {
        f.link.reply(array({bulk("0")}));
    }
    CHECK(f.failure() == "Stored data are damaged.");
}

TEST_CASE("a search fails with each of its calls", "[store]")
{
    Fixture f;
    f.reader.read(sold(20), Version{3 * kSpan, 1}, f.waiter);
    SECTION("not sent")
    {
        f.link.full = true;
        f.link.reply("*0\r\n");
    }
    SECTION("lost")
    {
        f.link.reply("*0\r\n");
        f.link.lose(NoReply::in_doubt);
    }
    SECTION("an error")
    {
        f.link.reply("*0\r\n");
        f.link.reply("-LOADING x\r\n");
    }
    SECTION("another server")
    {
        f.link.reply("*0\r\n");
        ++f.link.generation;
        f.link.reply(rows({kFirst + 1}));
    }
    CHECK(f.failure().find("temporarily unavailable") != std::string::npos);
    CHECK(f.link.commands.empty());
}

TEST_CASE("each call of a search may need the script's text", "[store]")
{
    Fixture f;
    f.reader.read(sold(20), Version{2 * kSpan, 1}, f.waiter);
    f.link.reply("*0\r\n");
    f.link.reply("-NOSCRIPT x\r\n");
    REQUIRE(f.link.commands.size() == 1);
    CHECK(f.link.commands[0].front() == "EVAL");
    f.link.reply(rows({kFirst + 1}));
    CHECK(f.page().body == json({kFirst + 1}));
}

TEST_CASE("requests join a search that goes on", "[store]")
{
    Fixture f;
    const Version now{2 * kSpan, 1};
    f.reader.read(sold(20), now, f.waiter);
    f.link.reply(rows({5}));
    ReadWaiter later;
    f.reader.read(sold(20), now, later);
    CHECK(f.link.commands.size() == 1);
    f.link.reply("*0\r\n");
    CHECK(f.page().body == json({5}));
    CHECK(later.results.size() == 1);
    CHECK(f.cache.find_latest(sold(20), now) != nullptr);
}

// The page may then mix two states. It is as new as its version, and is not
// used once the change is known.
TEST_CASE("a change between two calls outdates the page", "[store]")
{
    Fixture f;
    const Version now{2 * kSpan, 1};
    const Version changed{2 * kSpan, 2};
    f.cache.find_latest(sold(20), now);
    f.reader.read(sold(20), now, f.waiter);
    f.link.reply(rows({5}));
    f.cache.find_latest(sold(20), changed);
    ReadWaiter later;
    SECTION("for a request that knows of it while the search goes on")
    {
        f.reader.read(sold(20), changed, later);
        f.link.reply("*0\r\n");  // the first search
        CHECK(f.page().version.changes == 1);
    }
    SECTION("for a request after the search")
    {
        f.link.reply("*0\r\n");
        CHECK(f.page().version.changes == 1);
        CHECK(f.cache.find_latest(sold(20), changed) == nullptr);
        f.reader.read(sold(20), changed, later);
    }
    REQUIRE(f.link.commands.size() == 1);
    CHECK(f.link.commands[0].front() == "LRANGE");  // the change log
    f.link.reply(array({bulk("2:0")}));
    CHECK(later.results.empty());
    CHECK(f.search()[0] == "0");
}

TEST_CASE("a search ahead of a denied request stops", "[store]")
{
    Fixture f;
    f.cache.find_latest(sold(20), Version{2 * kSpan, 1});
    REQUIRE(f.reader.read_ahead(sold(20)));
    CHECK(f.search() == Words{"0", "21", text(kFirst), "more"});
    f.link.reply("*0\r\n");
    CHECK(f.link.commands.empty());
}

TEST_CASE("a search ahead of an admitted request goes on", "[store]")
{
    Fixture f;
    const Version now{2 * kSpan, 1};
    f.cache.find_latest(sold(20), now);
    REQUIRE(f.reader.read_ahead(sold(20)));
    f.reader.confirm(sold(20), now);
    f.reader.read(sold(20), now, f.waiter);
    f.link.reply("*0\r\n");
    CHECK(f.search() == Words{text(kFirst), "21", text(kSecond)});
    f.link.reply(rows({kFirst + 1}));
    CHECK(f.page().body == json({kFirst + 1}));
}
