#include "catch.h"

#include <string>
#include <vector>

#include "redis/slot_map.h"
#include "redis_replies.h"

using namespace petstore;
using redis::hash_slot;
using redis::Redirect;
using redis::ServerAddress;
using redis::SlotMap;

namespace {

std::string server(const std::string& host, int port)
{
    return array({host, integer(port), bulk("id"), array({})});
}

std::string range(int first, int last, const std::string& primary)
{
    return array({integer(first), integer(last), primary});
}

std::optional<SlotMap> map_of(const std::string& reply)
{
    Replies replies;
    return SlotMap::parse(replies(reply), "10.0.0.9");
}

std::string owner(const SlotMap& map, std::uint16_t slot)
{
    const auto index = map.primary_of(slot);
    if (!index) {
        return "nobody";
    }
    const ServerAddress& address = map.primaries().at(*index);
    return address.host + " " + std::to_string(address.port);
}

std::optional<Redirect> redirect_of(const std::string& reply)
{
    Replies replies;
    return Redirect::parse(replies(reply), "10.0.0.9");
}

}  // namespace

// The numbers are from CLUSTER KEYSLOT of Redis 7.0.
TEST_CASE("keys have the slots that Redis gives them", "[redis]")
{
    CHECK(hash_slot("") == 0);
    CHECK(hash_slot("123456789") == 0x31C3);
    CHECK(hash_slot("foo") == 12182);
    CHECK(hash_slot("a") == 15495);
    CHECK(hash_slot("\xff\x80\x01") == 1242);
    CHECK(hash_slot("petstore:{petstore:pets}:last_id")
          == hash_slot("petstore:pets"));
    CHECK(hash_slot("{foo}") == 12182);
    CHECK(hash_slot("x{foo}y{bar}") == 12182);
    CHECK(hash_slot("foo{}{a}") != 15495);
    CHECK(hash_slot("foo{{a}}") == hash_slot("{a"));
    CHECK(hash_slot("foo{a") != 15495);
    CHECK(hash_slot("foo}a{") != 15495);
}

TEST_CASE("a slot map names each slot's primary", "[redis]")
{
    const auto map = map_of(
        array({array({integer(0), integer(5460), server(bulk("10.0.0.1"), 7001),
                      server(bulk("10.0.0.4"), 7004)}),
               range(5461, 5461, server(bulk("node-2"), 7002)),
               range(16383, 16383, server(bulk("10.0.0.1"), 7001))}));
    REQUIRE(map);
    CHECK(map->primaries().size() == 2);
    CHECK(owner(*map, 0) == "10.0.0.1 7001");
    CHECK(owner(*map, 5460) == "10.0.0.1 7001");
    CHECK(owner(*map, 5461) == "node-2 7002");
    CHECK(owner(*map, 5462) == "nobody");
    CHECK(owner(*map, 16383) == "10.0.0.1 7001");
    const auto empty = map_of(array({}));
    REQUIRE(empty);
    CHECK(owner(*empty, 7) == "nobody");
}

TEST_CASE("a server that does not know its address has the one that was asked",
          "[redis]")
{
    for (const auto& host : {kNil, bulk("")}) {
        CAPTURE(host);
        const auto map = map_of(array({range(3, 4, server(host, 7001))}));
        REQUIRE(map);
        CHECK(owner(*map, 3) == "10.0.0.9 7001");
    }
}

TEST_CASE("a server without the name that it should have is reached by its IP",
          "[redis]")
{
    const auto unnamed = [](const std::string& metadata) {
        return array({bulk("?"), integer(7001), bulk("id"), metadata});
    };
    const auto map = map_of(array(
        {range(0, 1, unnamed(array({bulk("ip"), bulk("10.0.0.1")}))),
         range(2, 3, unnamed(array({bulk("x"), bulk("y"), bulk("ip"), kNil}))),
         range(4, 5, unnamed(array({bulk("ip")}))),
         range(6, 7, unnamed(array({bulk("ip"), bulk("?\n")}))),
         range(8, 9, array({bulk("?"), integer(7001), bulk("id")})),
         range(10, 11, server(bulk("node-2"), 7001)),
         range(12, 13, unnamed(array({bulk("ip"), bulk("?")})))}));
    REQUIRE(map);
    CHECK(owner(*map, 0) == "10.0.0.1 7001");
    for (const std::uint16_t slot : {2, 4, 6, 8, 12}) {
        CHECK(owner(*map, slot) == "nobody");
    }
    CHECK(owner(*map, 10) == "node-2 7001");
}

TEST_CASE("the IP address of a server with a name is known", "[redis]")
{
    const auto map =
        map_of(array({range(0, 1,
                            array({bulk("node-1"), integer(7001), bulk("id"),
                                   array({bulk("ip"), bulk("10.0.0.1")})}))}));
    REQUIRE(map);
    REQUIRE(map->primaries().size() == 1);
    CHECK(map->primaries()[0].host == "node-1");
    CHECK(map->primaries()[0].ip == "10.0.0.1");
}

TEST_CASE("an unusable IP address of a server is ignored", "[redis]")
{
    for (const std::string& ip :
         {bulk("?"), bulk(""), kNil, bulk("10.0.0.1 x"), bulk("10.0.0.1\n"),
          bulk({"10.0.0.1\0x", 10}), bulk(std::string(256, '1'))}) {
        CAPTURE(ip);
        const auto map = map_of(
            array({range(0, 1,
                         array({bulk("node-1"), integer(7001), bulk("id"),
                                array({bulk("ip"), ip})}))}));
        REQUIRE(map);
        CHECK(owner(*map, 0) == "node-1 7001");
        CHECK(map->primaries()[0].ip.empty());
    }
}

TEST_CASE("an address is that of one server", "[redis]")
{
    const auto with_id = [](const std::string& id) {
        return array({kNil, integer(7001), id, array({})});
    };
    auto map = map_of(array(
        {range(0, 1, with_id(bulk("id-1"))), range(2, 3, with_id(bulk("id-2"))),
         range(4, 5, with_id(bulk("id-1"))), range(6, 7, with_id(kNil))}));
    REQUIRE(map);
    CHECK(map->id_at({"10.0.0.9", 7001}).text() == "id-1");
    CHECK(owner(*map, 0) == "10.0.0.9 7001");
    CHECK(owner(*map, 2) == "nobody");
    CHECK(owner(*map, 4) == "10.0.0.9 7001");
    CHECK(owner(*map, 6) == "10.0.0.9 7001");
    map->move(2, {"10.0.0.9", 7001, redis::ServerId("id-2")});
    CHECK(owner(*map, 2) == "nobody");
}

TEST_CASE("other replies are not slot maps", "[redis]")
{
    for (const std::string& reply :
         {kNil, bulk("x"), integer(7),
          std::string("-ERR This instance has cluster support disabled\r\n")}) {
        CAPTURE(reply);
        CHECK_FALSE(map_of(reply));
    }
}

TEST_CASE("an unusable entry of a slot map discards no other", "[redis]")
{
    const auto good = server(bulk("10.0.0.1"), 7001);
    const std::vector<std::string> entries = {
        integer(1),
        kNil,
        bulk("x"),
        "-ERR x\r\n",
        array({}),
        array({integer(0), integer(1)}),
        array({bulk("0"), integer(1), good}),
        array({integer(0), bulk("1"), good}),
        range(-1, 1, good),
        range(2, 1, good),
        range(0, 16384, good),
        range(0, 1, integer(1)),
        range(0, 1, array({bulk("10.0.0.1")})),
        range(0, 1, server(integer(1), 7001)),
        // A node whose address no other node knows.
        range(0, 1, server(bulk(""), 0)),
        range(0, 1, server(bulk("10.0.0.1"), 65536)),
        range(0, 1, array({bulk("h"), bulk("7001")})),
        range(0, 1, server(bulk("10.0.0.1 x"), 7001)),
        range(0, 1, server(bulk("10.0.0.1\n[alert]"), 7001)),
        range(0, 1, server(bulk({"10.0.0.1\0x", 10}), 7001)),
        range(0, 1, server(bulk(std::string(256, 'h')), 7001)),
    };
    for (const auto& entry : entries) {
        CAPTURE(entry);
        const auto map =
            map_of(array({range(8, 9, server(bulk("h1"), 7001)), entry,
                          range(10, 11, server(bulk("h2"), 7002))}));
        REQUIRE(map);
        CHECK(owner(*map, 0) == "nobody");
        CHECK(owner(*map, 9) == "h1 7001");
        CHECK(owner(*map, 10) == "h2 7002");
        CHECK(map->primaries().size() == 2);
    }
}

TEST_CASE("a slot map knows the ids of all servers", "[redis]")
{
    const auto with_id = [](const std::string& host, const std::string& id) {
        return array({bulk(host), integer(7001), id, array({})});
    };
    const std::string long_id(65, 'x');
    const auto map = map_of(array(
        {array({integer(0), integer(1), with_id("h1", bulk("id-1")),
                with_id("h2", bulk("id-2")), with_id("h3", bulk(long_id))}),
         array({integer(2), integer(3), with_id("h4", kNil),
                with_id("h5 x", bulk("id-5"))}),
         array({integer(4), integer(5), with_id("h1", bulk("id-1")),
                with_id("h2", bulk("id-2"))})}));
    REQUIRE(map);
    CHECK(map->id_at({"h1", 7001}).text() == "id-1");
    CHECK(map->id_at({"h2", 7001}).text() == "id-2");
    CHECK(map->id_at({"h3", 7001}).empty());
    CHECK(map->id_at({"h4", 7001}).empty());
    CHECK(map->id_at({"h1", 7002}).empty());
    CHECK(map->replicas().size() == 2);
}

TEST_CASE("each slot may be a range with many servers", "[redis]")
{
    const auto named = [](const std::string& first) {
        const std::string name = first + std::string(252, 'h');
        return array({bulk(name), integer(7001), bulk(std::string(40, 'i')),
                      array({bulk("ip"), bulk("10.0.0.1")})});
    };
    std::vector<std::string> ranges;
    for (int slot = 0; slot < redis::kHashSlots; ++slot) {
        std::vector<std::string> entry = {integer(slot), integer(slot),
                                          named(slot % 2 == 0 ? "a" : "b")};
        entry.insert(entry.end(), 4, named("c"));
        ranges.push_back(array(entry));
    }
    Replies replies(SlotMap::kReplyLimits);
    const auto map = SlotMap::parse(replies(array(ranges)), "10.0.0.9");
    REQUIRE(map);
    CHECK(map->primaries().size() == 2);
    CHECK(owner(*map, 16382).front() == 'a');
    CHECK(owner(*map, 16383).front() == 'b');

    ranges.push_back(range(0, 0, named("a")));
    CHECK_THROWS(replies(array(ranges)));
}

TEST_CASE("a slot map bounds the number of primaries", "[redis]")
{
    std::vector<std::string> ranges;
    for (int i = 0; i < 1000; ++i) {
        ranges.push_back(range(i, i, server(bulk("h"), 7000 + i)));
    }
    auto map = map_of(array(ranges));
    REQUIRE(map);
    map->move(5000, {"other", 1});
    CHECK(owner(*map, 5000) == "nobody");
    ranges.insert(ranges.begin() + 1,
                  range(2000, 2000, server(bulk("another"), 1)));
    map = map_of(array(ranges));
    REQUIRE(map);
    CHECK(owner(*map, 2000) == "another 1");
    CHECK(owner(*map, 998) == "h 7998");
    CHECK(owner(*map, 999) == "nobody");
    CHECK(map->primaries().size() == 1000);
}

TEST_CASE("a moved slot has its new primary", "[redis]")
{
    auto map = map_of(array({range(0, 9, server(bulk("h1"), 7001))}));
    REQUIRE(map);
    map->move(5, {"h2", 7002});
    map->move(6, {"h2", 7002});
    map->move(9999, {"h1", 7001});
    CHECK(owner(*map, 4) == "h1 7001");
    CHECK(owner(*map, 5) == "h2 7002");
    CHECK(owner(*map, 6) == "h2 7002");
    CHECK(owner(*map, 9999) == "h1 7001");
    CHECK(map->primaries().size() == 2);
}

TEST_CASE("redirects name the slot and the server", "[redis]")
{
    const auto moved = redirect_of("-MOVED 3999 127.0.0.1:6381\r\n");
    REQUIRE(moved);
    CHECK(moved->kind == Redirect::Kind::moved);
    CHECK(moved->slot == 3999);
    CHECK(moved->address == ServerAddress{"127.0.0.1", 6381});
    const auto ask = redirect_of("-ASK 0 2001:db8::1:6381\r\n");
    REQUIRE(ask);
    CHECK(ask->kind == Redirect::Kind::ask);
    CHECK(ask->address == ServerAddress{"2001:db8::1", 6381});
    const auto same_host = redirect_of("-MOVED 16383 :6381\r\n");
    REQUIRE(same_host);
    CHECK(same_host->address == ServerAddress{"10.0.0.9", 6381});
    for (const char* text :
         {"MOVED",           "MOVED ",          "MOVED 1",
          "MOVED 1 ",        "MOVED 1 h",       "MOVED 1 h:",
          "MOVED 1 h:0",     "MOVED 1 h:65536", "MOVED 1 h:6x",
          "MOVED x h:1",     "MOVED 16384 h:1", "MOVED -1 h:1",
          "MOVED h:1 1",     "MOVED  1 h:1",    "MOVEDX 1 h:1",
          "MOVED 1 h\x01:1", "MOVED 1 ?:1",     "ASK 1 ?:1",
          "moved 1 h:1",     "TRYAGAIN",        ""}) {
        CAPTURE(text);
        CHECK_FALSE(redirect_of("-" + std::string(text) + "\r\n"));
    }
    CHECK_FALSE(redirect_of("+MOVED 1 h:1\r\n"));
    CHECK_FALSE(redirect_of(bulk("MOVED 1 h:1")));
}
