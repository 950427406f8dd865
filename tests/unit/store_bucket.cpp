#include "catch.h"

#include <string>
#include <vector>

#include "store/pets/bucket.h"
#include "store_replies.h"

using namespace petstore;
using api::Status;
using store::Bucket;
using store::RowSet;

namespace {

std::vector<int> rows_of(RowSet set)
{
    std::vector<int> rows;
    while (!set.empty()) {
        rows.push_back(set.take_first());
    }
    return rows;
}

std::optional<Bucket> parse(const std::vector<std::string>& records)
{
    std::vector<std::string> items;
    for (const auto& record : records) {
        items.push_back(bulk(record));
    }
    Replies replies;
    return Bucket::parse(replies(array(items)));
}

std::string json_of(const Bucket& bucket, int row, api::PetId id)
{
    std::string json(bucket.max_json(row), '\0');
    const char* end = bucket.write_pet(json.data(), row, id);
    json.resize(static_cast<std::size_t>(end - json.data()));
    return json;
}

}  // namespace

TEST_CASE("a row set holds ranges and single rows", "[store]")
{
    CHECK(RowSet().empty());
    CHECK(RowSet::range(3, 3).empty());
    CHECK(RowSet::range(5, 3).empty());
    CHECK(RowSet::range(0, 128).size() == 128);
    CHECK(rows_of(RowSet::range(62, 66)) == std::vector{62, 63, 64, 65});
    CHECK(rows_of(RowSet::range(64, 65)) == std::vector{64});
    CHECK(rows_of(RowSet::range(127, 128)) == std::vector{127});
    CHECK(rows_of(RowSet::range(60, 128).first(6))
          == std::vector{60, 61, 62, 63, 64, 65});
    CHECK(RowSet::range(60, 70).first(0).empty());

    RowSet some;
    for (const int row : {0, 63, 64, 127}) {
        some.add(row);
    }
    CHECK(some.size() == 4);
    CHECK(rows_of(some & RowSet::range(1, 127)) == std::vector{63, 64});
}

TEST_CASE("a bucket writes pets like any other response", "[store]")
{
    const std::vector<std::string> records = {
        "a7:Rex", "p-9223372036854775808:a \"b\" \\ c",
        "s0:\xC5\xBDofie:\xF0\x9F\x90\x95", "a1:tab\there",
        "s9223372036854775807:" + std::string(1020, 'x')};
    const auto bucket = parse(records);
    REQUIRE(bucket);
    REQUIRE(bucket->size() == 5);
    for (int row = 0; row < bucket->size(); ++row) {
        const api::PetId id = row % 2 ? 129 + row : (1LL << 62) + row;
        std::string expected;
        api::append_pet_json(
            expected,
            *store::decode_record(id, records[static_cast<std::size_t>(row)]));
        CHECK(json_of(*bucket, row, id) == expected);
        CHECK(expected.size() <= bucket->max_json(row));
    }
    CHECK(rows_of(bucket->rows(Status::available)) == std::vector{0, 3});
    CHECK(rows_of(bucket->rows(Status::pending)) == std::vector{1});
    CHECK(rows_of(bucket->rows(Status::sold)) == std::vector{2, 4});
    CHECK(rows_of(bucket->rows(std::nullopt)) == std::vector{0, 1, 2, 3, 4});
    CHECK(bucket->bytes() > 1020);
}

TEST_CASE("a bucket may be empty or full, but not larger", "[store]")
{
    CHECK(parse({})->size() == 0);
    CHECK(parse(std::vector<std::string>(128, "a1:x"))->size() == 128);
    CHECK_FALSE(parse(std::vector<std::string>(129, "a1:x")));
}

TEST_CASE("one damaged record makes a bucket invalid", "[store]")
{
    CHECK_FALSE(parse({"a1:x", "a:x", "a1:x"}));
    CHECK_FALSE(parse({"a1:x", ""}));
    CHECK_FALSE(parse({"a1:x", "a1:\xFF"}));
    Replies replies;
    CHECK_FALSE(Bucket::parse(replies(kNil)));
    CHECK_FALSE(Bucket::parse(replies(array({bulk("a1:x"), kNil}))));
    CHECK_FALSE(Bucket::parse(replies(array({integer(1)}))));
}
