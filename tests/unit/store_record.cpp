#include "catch.h"

#include <limits>
#include <string>

#include "store/pets/record.h"

using namespace petstore;
using store::decode_record;
using store::encode_record;

TEST_CASE("encoding and decoding a record keeps the pet", "[store]")
{
    const auto status = GENERATE(api::Status::available, api::Status::pending,
                                 api::Status::sold);
    const auto category = GENERATE(std::int64_t{0}, std::int64_t{-1},
                                   std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max());
    const auto name =
        GENERATE(as<std::string>{}, "Rex", ":", "a:b", ">", " x ",
                 "Žofie \xF0\x9F\x90\x95", "1:2>3", std::string(255 * 4, 'x'));
    const std::string record = encode_record({name, category, status});
    const auto pet = decode_record(77, record);
    REQUIRE(pet);
    CHECK(pet->id == 77);
    CHECK(pet->name == name);
    CHECK(pet->category == std::to_string(category));
    CHECK(pet->status == status);
    const auto split = store::split_record(77, record);
    CHECK(split.id == 77);
    CHECK(split.name == name);
    CHECK(split.category == pet->category);
    CHECK(split.status == status);
}

TEST_CASE("a record has the documented form", "[store]")
{
    CHECK(encode_record({"Rex", 7, api::Status::sold}) == "s7:Rex");
}

TEST_CASE("invalid records are refused", "[store]")
{
    const auto record = GENERATE(
        as<std::string>{}, "", "a", "a:", "a1", "a1:", "a:x", ":", "x1:n",
        "A1:n", "1:n", "a01:n", "a+1:n", "a-0:n", "a1.0:n", "a 1:n",
        "a9223372036854775808:n", "ab:n", "a>", "a1:\xFF", "a1:Rex\xC3",
        "a1:a long name that ends in \xED\xA0\x80", "a1:\xC0\x80 a long name");
    CAPTURE(record);
    CHECK_FALSE(decode_record(1, record));
}

TEST_CASE("128 ids share a bucket", "[store]")
{
    CHECK(store::bucket_of(1) == 0);
    CHECK(store::bucket_of(128) == 0);
    CHECK(store::bucket_of(129) == 1);
    CHECK(store::row_of(1) == 0);
    CHECK(store::row_of(128) == 127);
    CHECK(store::row_of(129) == 0);
    CHECK(store::row_of(130) == 1);
    for (const api::PetId id : {1, 2, 128, 129, 256, 257, 1'000'000}) {
        CHECK(store::position_at(store::bucket_of(id), store::row_of(id))
              == id);
    }
}
