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

TEST_CASE("a page that takes several commands is read again, too", "[store]")
{
    FakeLink link;
    store::Operations all;
    Result<store::Done> result;
    const std::string key = "s";
    std::vector<std::string> found;
    const store::ReadPiece read =
        [&](api::ScanPlace from) -> store::Task<std::optional<api::ScanPlace>> {
        auto page = co_await store::read_index_page(
            link, key, store::IndexKind::set, from, 100);
        for (const auto& entry : page.entries) {
            found.push_back(entry.first);
        }
        co_return page.next;
    };
    store::run(all, store::read_in_pieces(link, key, read), result);
    link.reply(array({bulk("5"), array({})}));
    CHECK(link.commands.at(0) == Words{"SSCAN", "s", "5", "COUNT", "1000"});
    ++link.generation;
    link.reply(array({bulk("0"), array({})}));
    REQUIRE(link.commands.size() == 1);
    CHECK(link.commands[0] == Words{"SSCAN", "s", "0", "COUNT", "1000"});
    link.reply(array({bulk("0"), array({bulk("a")})}));
    CHECK_FALSE(result.failed());
    CHECK(found == std::vector<std::string>{"a"});
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
