// Reading a whole hash or set in pieces.
#include "catch.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fake_link.h"
#include "key_world.h"
#include "store/scan_tasks.h"

using namespace petstore;
using Words = FakeLink::Words;
using Fields = std::map<std::string, std::string>;

namespace {

struct ReadHash {
    ReadHash() { store::run(all, store::read_hash(link, key), result); }

    void piece(const std::string& next, const std::string& field)
    {
        link.reply(array({bulk(next), array({bulk(field), bulk("v")})}));
    }
    Words sent() const
    {
        REQUIRE(link.commands.size() == 1);
        return link.commands[0];
    }

    FakeLink link;
    const std::string key = "h";
    store::Operations all;
    Result<Fields> result;
};

Words hscan(const std::string& cursor)
{
    return {"HSCAN", "h", cursor, "COUNT", "1000"};
}

}  // namespace

TEST_CASE("a hash is read piece by piece", "[store]")
{
    ReadHash r;
    CHECK(r.sent() == hscan("0"));
    r.piece("5", "a");
    CHECK(r.sent() == hscan("5"));
    r.piece("3", "b");
    r.piece("0", "a");
    CHECK(r.result.value() == Fields{{"a", "v"}, {"b", "v"}});
}

TEST_CASE("a cursor is not used on another server", "[store]")
{
    ReadHash r;
    r.piece("5", "gone");
    CHECK(r.sent() == hscan("5"));
    SECTION("after a failover")
    {
        ++r.link.generation;
    }
    SECTION("after a redirect to the server that a slot moves to")
    {
        ++r.link.overtaken;
    }
    const bool at_end = GENERATE(false, true);
    r.piece(at_end ? "0" : "9", "strange");
    CHECK(r.sent() == hscan("0"));
    r.piece("6", "a");
    r.piece("0", "b");
    CHECK(r.result.value() == Fields{{"a", "v"}, {"b", "v"}});
}

TEST_CASE("a hash of one piece is whole on any server", "[store]")
{
    ReadHash r;
    SECTION("after a failover")
    {
        ++r.link.generation;
    }
    SECTION("after a redirect to the server that a slot moves to")
    {
        ++r.link.overtaken;
    }
    r.piece("0", "a");
    CHECK(r.result.value() == Fields{{"a", "v"}});
}

namespace {

// Reads a set page by page.
struct ReadPages {
    ReadPages()
    {
        store::run(all, store::read_in_pieces(link, key, read), result);
    }

    FakeLink link;
    const std::string key = "s";
    const store::ReadPiece read =
        [this](api::ScanPlace from) -> store::Task<store::PieceEnd> {
        auto page = co_await store::read_index_page(
            link, key, store::IndexKind::set, from, 2);
        for (const auto& entry : page.entries) {
            found.push_back(entry.first);
        }
        co_return store::PieceEnd{page.next, page.whole};
    };
    std::vector<std::string> found;
    store::Operations all;
    Result<store::Done> result;
};

Words sscan(const std::string& cursor)
{
    return {"SSCAN", "s", cursor, "COUNT", "1000"};
}

}  // namespace

TEST_CASE("a page that takes several commands is read again, too", "[store]")
{
    ReadPages r;
    r.link.reply(array({bulk("5"), array({})}));
    CHECK(r.link.commands.at(0) == sscan("5"));
    ++r.link.generation;
    r.link.reply(array({bulk("0"), array({})}));
    REQUIRE(r.link.commands.size() == 1);
    CHECK(r.link.commands[0] == sscan("0"));
    r.link.reply(array({bulk("0"), array({bulk("a")})}));
    CHECK_FALSE(r.result.failed());
    CHECK(r.found == std::vector<std::string>{"a"});
}

TEST_CASE("a page from one command is whole on any server", "[store]")
{
    ReadPages r;
    ++r.link.overtaken;
    r.link.reply(array({bulk("0"), array({bulk("a"), bulk("b")})}));
    REQUIRE(r.result.calls == 1);
    CHECK_FALSE(r.result.failed());
    CHECK(r.found == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the pages of one command are not whole", "[store]")
{
    ReadPages r;
    const auto entries = array({bulk("a"), bulk("b"), bulk("c")});
    r.link.reply(array({bulk("0"), entries}));
    REQUIRE(r.link.commands.size() == 1);
    ++r.link.overtaken;
    r.link.reply(array({bulk("0"), array({})}));
    CHECK(r.link.commands.size() == 1);
    CHECK(r.result.calls == 0);
}

TEST_CASE("a hash whose server changes all the time is not read", "[store]")
{
    ReadHash r;
    int commands = 0;
    while (!r.link.commands.empty()) {
        REQUIRE(++commands < 100);
        ++r.link.generation;
        r.piece("5", "a");
    }
    CHECK(r.result.failure().error.code == api::ErrorCode::service_unavailable);
    CHECK(r.result.message()
          == "the server of the Redis key h changes repeatedly: try again "
             "later");
}

TEST_CASE("a set is read again on another server", "[store]")
{
    FakeLink link;
    store::Operations all;
    Result<std::set<std::string>> result;
    const std::string key = "s";
    store::run(all, store::read_set(link, key), result);
    link.reply(array({bulk("5"), array({bulk("gone")})}));
    ++link.generation;
    link.reply(array({bulk("0"), array({bulk("strange")})}));
    link.reply(array({bulk("0"), array({bulk("a"), bulk("b")})}));
    CHECK(result.value() == std::set<std::string>{"a", "b"});
}
