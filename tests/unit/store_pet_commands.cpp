#include "catch.h"

#include <limits>
#include <string>
#include <vector>

#include "known_ids.h"
#include "store/pets/pet_commands.h"
#include "store/pets/record.h"
#include "store/scripts.h"
#include "store_replies.h"

using namespace petstore;
using store::PageReader;
using store::PetCommands;
using Words = std::vector<std::string>;

namespace {

const store::Schema kSchema("petstore");
const PetCommands kCatalogue(kSchema);

store::PageQuery query_of(int limit, store::Position after)
{
    store::PageQuery query;
    query.limit = limit;
    query.after = after;
    return query;
}

store::PageQuery query_of(int limit, store::Position after, api::Status status)
{
    store::PageQuery query = query_of(limit, after);
    query.status = status;
    return query;
}

std::string repeated(const std::string& item, int count)
{
    return array(std::vector<std::string>(count, item));
}

std::string json_of(api::PetId id, const std::string& name)
{
    return "{\"id\":" + std::to_string(id) + ",\"name\":\"" + name
           + "\",\"categoryId\":1,\"status\":\"available\"}";
}

}  // namespace

TEST_CASE("a pet is read from its bucket", "[store]")
{
    CHECK(words(kCatalogue.get(1))
          == Words{"LINDEX", "petstore:{petstore:pets}:bucket:0", "0"});
    CHECK(words(kCatalogue.get(128))
          == Words{"LINDEX", "petstore:{petstore:pets}:bucket:0", "127"});
    CHECK(words(kCatalogue.get(129))
          == Words{"LINDEX", "petstore:{petstore:pets}:bucket:1", "0"});
    CHECK(words(kCatalogue.get(1000))
          == Words{"LINDEX", "petstore:{petstore:pets}:bucket:7", "103"});
}

TEST_CASE("a page reads one row more than it has", "[store]")
{
    const auto commands = kCatalogue.list_all(query_of(3, 10));
    REQUIRE(commands.size() == 1);
    CHECK(words(commands[0])
          == Words{"LRANGE", "petstore:{petstore:pets}:bucket:0", "10", "13"});
}

TEST_CASE("a page reads a second bucket if needed", "[store]")
{
    const auto commands = kCatalogue.list_all(query_of(3, 126));
    REQUIRE(commands.size() == 2);
    CHECK(
        words(commands[0])
        == Words{"LRANGE", "petstore:{petstore:pets}:bucket:0", "126", "127"});
    CHECK(words(commands[1])
          == Words{"LRANGE", "petstore:{petstore:pets}:bucket:1", "0", "1"});
    CHECK(kCatalogue.list_all(query_of(100, 128)).size() == 1);
    CHECK(kCatalogue.list_all(query_of(1, 127)).size() == 2);
    CHECK(kCatalogue.list_all(query_of(1, 126)).size() == 1);
}

TEST_CASE("a page beyond the last id does not overflow", "[store]")
{
    const auto query = query_of(100, std::numeric_limits<std::int64_t>::max());
    const auto commands = kCatalogue.list_all(query);
    REQUIRE_FALSE(commands.empty());
    Replies replies;
    PageReader reader(query);
    for (std::size_t i = 0; i < commands.size(); ++i) {
        // Negative positions would count from the end of the list.
        for (const auto& position :
             {words(commands[i])[2], words(commands[i])[3]}) {
            CHECK(std::stoi(position) >= 0);
            CHECK(std::stoi(position) < 128);
        }
        CHECK(reader.add(i, replies(array({}))));
    }
    const auto page = reader.finish(one_segment());
    CHECK(page.body == "[]");
    CHECK_FALSE(page.more);
    CHECK(page.last == 0);
}

TEST_CASE("a filtered page is one script", "[store]")
{
    const auto query = query_of(20, 5, api::Status::pending);
    CHECK(words(kCatalogue.list_by_status(query))
          == Words{"EVALSHA", store::scripts().list_by_status.sha1, "1",
                   "petstore:{petstore:pets}:status:pending", "5", "21",
                   "petstore:{petstore:pets}:", "p", "8388615"});
    auto far = query;
    far.after = std::numeric_limits<std::int64_t>::max();
    CHECK(words(kCatalogue.list_by_status(far))[4] == "4503599627370496");
    CHECK(words(kCatalogue.list_by_status(far))[8] == "4503599635759111");
    // Only if the catalogue continues after the search.
    CHECK(words(kCatalogue.list_by_status(query, 8'388'615)).size() == 9);
    CHECK(words(kCatalogue.list_by_status(query, 8'388'616)).back() == "1");
    CHECK(words(kCatalogue.list_by_status(query, 8'388'616)).size() == 10);
}

TEST_CASE("a status change names all bitmaps and the log", "[store]")
{
    const auto command = words(kCatalogue.set_status(9, api::Status::pending));
    CHECK(Words(command.begin() + 2, command.end())
          == Words{"5", "petstore:{petstore:pets}:changes",
                   "petstore:{petstore:pets}:status:available",
                   "petstore:{petstore:pets}:status:pending",
                   "petstore:{petstore:pets}:status:sold",
                   "petstore:{petstore:pets}:change-log", "9", "p",
                   "petstore:{petstore:pets}:"});
}

TEST_CASE("a full page knows whether there is a next one", "[store]")
{
    Replies replies;
    PageReader reader(query_of(2, 0));
    REQUIRE(reader.add(
        0, replies(array({bulk("a1:x"), bulk("a1:y"), bulk("a1:z")}))));
    const auto page = reader.finish(one_segment());
    CHECK(page.body == "[" + json_of(1, "x") + "," + json_of(2, "y") + "]");
    CHECK(page.more);
    CHECK(page.last == 2);
}

TEST_CASE("a page leaves out what was created later", "[store]")
{
    Replies replies;
    PageReader reader(query_of(2, 0));
    REQUIRE(reader.add(
        0, replies(array({bulk("a1:x"), bulk("a1:y"), bulk("a1:z")}))));
    SECTION("all that the page has")
    {
        reader.drop_after(2);
        CHECK(reader.finish(one_segment()).last == 2);
    }
    SECTION("a part of it")
    {
        reader.drop_after(1);
        const auto page = reader.finish(one_segment());
        CHECK(page.body == "[" + json_of(1, "x") + "]");
        CHECK(page.last == 1);
    }
    CHECK_FALSE(reader.finish(one_segment()).more);
}

TEST_CASE("the last page ends with its bucket", "[store]")
{
    Replies replies;
    PageReader reader(query_of(2, 0));
    REQUIRE(reader.add(0, replies(array({bulk("a1:x"), bulk("a1:y")}))));
    auto page = reader.finish(one_segment());
    CHECK(page.body == "[" + json_of(1, "x") + "," + json_of(2, "y") + "]");
    CHECK_FALSE(page.more);

    PageReader empty(query_of(2, 5));
    REQUIRE(empty.add(0, replies(array({}))));
    page = empty.finish(one_segment());
    CHECK(page.body == "[]");
    CHECK(page.last == 0);
    CHECK_FALSE(page.more);
}

TEST_CASE("a page ends at the first gap", "[store]")
{
    Replies replies;
    // 127 and 128 in the first bucket, 129 and 130 in the second. Pets were
    // created between the two reads.
    PageReader reader(query_of(3, 126));
    REQUIRE(reader.add(0, replies(array({bulk("a1:x")}))));
    REQUIRE(reader.add(1, replies(array({bulk("a1:y"), bulk("a1:z")}))));
    auto page = reader.finish(one_segment());
    CHECK(page.body == "[" + json_of(127, "x") + "]");
    CHECK_FALSE(page.more);
    CHECK(page.last == 127);

    PageReader without(query_of(3, 126));
    REQUIRE(without.add(0, replies(array({}))));
    REQUIRE(without.add(1, replies(array({bulk("a1:y"), bulk("a1:z")}))));
    page = without.finish(one_segment());
    CHECK(page.body == "[]");
    CHECK_FALSE(page.more);
    CHECK(page.last == 0);
}

TEST_CASE("a page is built from two buckets", "[store]")
{
    Replies replies;
    PageReader reader(query_of(3, 126));
    REQUIRE(reader.add(0, replies(array({bulk("a1:w"), bulk("a1:x")}))));
    REQUIRE(reader.add(1, replies(array({bulk("a1:y"), bulk("a1:z")}))));
    const auto page = reader.finish(one_segment());
    CHECK(page.body
          == "[" + json_of(127, "w") + "," + json_of(128, "x") + ","
                 + json_of(129, "y") + "]");
    CHECK(page.more);
    CHECK(page.last == 129);
}

TEST_CASE("a page can be written as lines", "[store]")
{
    Replies replies;
    PageReader reader(query_of(2, 0));
    REQUIRE(reader.add(0, replies(array({bulk("a1:x"), bulk("a1:y")}))));
    CHECK(reader.finish(one_segment(), PageReader::Form::lines).body
          == json_of(1, "x") + "\n" + json_of(2, "y") + "\n");
}

TEST_CASE("a filtered page", "[store]")
{
    Replies replies;
    const std::string name(200, 'n');
    PageReader reader(query_of(2, 3, api::Status::available));
    REQUIRE(reader.add(
        0, replies(array({integer(7), bulk("a1:x"), integer(900),
                          bulk("a1:" + name), integer(901), bulk("a1:z")}))));
    const auto page = reader.finish(one_segment());
    CHECK(page.body == "[" + json_of(7, "x") + "," + json_of(900, name) + "]");
    CHECK(page.more);
    CHECK(page.last == 900);
}

TEST_CASE("the ids of a filtered page must ascend", "[store]")
{
    Replies replies;
    const auto taken = [&](const std::vector<api::PetId>& ids) {
        std::vector<std::string> items;
        for (const api::PetId id : ids) {
            items.push_back(integer(id));
            items.push_back(bulk("a1:x"));
        }
        return PageReader(query_of(5, 3, api::Status::available))
            .add(0, replies(array(items)));
    };
    CHECK(taken({4, 5, 900}));
    CHECK_FALSE(taken({3}));
    CHECK_FALSE(taken({0}));
    CHECK_FALSE(taken({5, 5}));
    CHECK_FALSE(taken({5, 4}));
    CHECK_FALSE(taken({std::numeric_limits<api::PetId>::min()}));
    CHECK_FALSE(taken({5, -1}));
}

TEST_CASE("a damaged record fails the page and names its bucket", "[store]")
{
    Replies replies;
    for (const auto& record : {"", "a1x", "s1:x", "a1:\xFF"}) {
        CAPTURE(record);
        PageReader filtered(query_of(2, 0, api::Status::available));
        CHECK_FALSE(filtered.add(
            0, replies(array({integer(1), bulk("a1:x"), integer(300),
                              bulk(record), integer(301), bulk("a1:z")}))));
        CHECK(filtered.damaged_bucket() == 2);
    }
    PageReader reader(query_of(3, 126));
    REQUIRE(reader.add(0, replies(array({bulk("a1:w"), bulk("a1:x")}))));
    CHECK_FALSE(reader.add(1, replies(array({bulk("a1x")}))));
    CHECK(reader.damaged_bucket() == 1);
    CHECK(reader.bucket(0) == 0);
    CHECK(reader.bucket(1) == 1);
}

TEST_CASE("a page reports the first missing pet", "[store]")
{
    Replies replies;
    const auto missing = [&](int limit, store::Position after, int rows,
                             store::Position count) {
        PageReader reader(query_of(limit, after));
        REQUIRE(reader.add(0, replies(repeated(bulk("a1:x"), rows))));
        return reader.missing(count);
    };
    CHECK(missing(3, 10, 4, 100) == 0);
    CHECK(missing(3, 10, 3, 100) == 14);
    CHECK(missing(3, 10, 3, 13) == 0);
    CHECK(missing(3, 10, 3, 14) == 14);
    CHECK(missing(3, 10, 0, 11) == 11);
    CHECK(missing(3, 10, 0, 10) == 0);
    CHECK(missing(3, 10, 2, 1) == 0);  // created after the version was read
    CHECK(missing(3, std::numeric_limits<std::int64_t>::max(), 0, 100) == 0);

    PageReader filtered(query_of(2, 0, api::Status::available));
    REQUIRE(filtered.add(0, replies(array({integer(7), bulk("a1:x")}))));
    CHECK(filtered.missing(100) == 0);
}

TEST_CASE("malformed replies are refused", "[store]")
{
    Replies replies;
    for (const auto& wrong :
         {kNil, integer(1), bulk("a1:x"), std::string("-ERR x\r\n"),
          repeated(kNil, 1), repeated(kNil, 3), repeated(bulk("a1:x"), 4),
          repeated(integer(1), 3), repeated(bulk(""), 3),
          repeated(bulk("x"), 3), repeated(bulk("a>"), 3),
          array({bulk("a1:x"), array({}), bulk("a1:y")}),
          array({bulk("a1:x"), kNil, bulk("a1:y")}),
          array({bulk("a1:x"), integer(1)})}) {
        CAPTURE(wrong);
        CHECK_FALSE(PageReader(query_of(2, 0)).add(0, replies(wrong)));
    }
    for (const auto& wrong :
         {kNil, integer(1), bulk("a1:x"), array({integer(1)}),
          array({bulk("1"), bulk("a1:x")}), array({integer(1), kNil}),
          array({integer(1), bulk("a>")}), array({integer(1), bulk("x")})}) {
        CAPTURE(wrong);
        CHECK_FALSE(PageReader(query_of(2, 0, api::Status::sold))
                        .add(0, replies(wrong)));
    }
    CHECK_FALSE(PageReader(query_of(2, 0, api::Status::sold))
                    .add(1, replies(array({}))));
}
