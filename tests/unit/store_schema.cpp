#include "catch.h"

#include <string>

#include "store/schema.h"

using namespace petstore;

namespace {

api::Digest digest_of(unsigned char byte)
{
    api::Digest digest;
    digest.fill(byte);
    return digest;
}

std::string hex_of(const char* byte)
{
    std::string hex;
    for (int i = 0; i < 32; ++i) {
        hex += byte;
    }
    return hex;
}

// The part of a name that Redis Cluster hashes.
std::string slot_of(const std::string& name)
{
    const auto open = name.find('{');
    return name.substr(open + 1, name.find('}') - open - 1);
}

}  // namespace

TEST_CASE("Redis keys have the documented names", "[store]")
{
    const store::Schema schema("shop");
    CHECK(schema.key_record(digest_of(0xab)) == "shop:key:" + hex_of("ab"));
    CHECK(schema.key_index() == "shop:keys");
    CHECK(schema.account_probe("doctor") == "shop:{doctor}:probe");
    CHECK(schema.catalogue_probe() == "shop:{shop:pets}:probe");
    CHECK(schema.account_state("acc") == "shop:{acc}:state");
    CHECK(schema.strikes("acc") == "shop:{acc}:strikes");
    CHECK(schema.bans("acc") == "shop:{acc}:bans");
    CHECK(schema.catalogue() == "shop:{shop:pets}:");
    CHECK(schema.pet_count() == "shop:{shop:pets}:count");
    CHECK(schema.changes() == "shop:{shop:pets}:changes");
    CHECK(schema.bucket(12) == "shop:{shop:pets}:bucket:12");
    CHECK(schema.status_bitmap(api::Status::available)
          == "shop:{shop:pets}:status:available");
    CHECK(schema.status_bitmap(api::Status::pending)
          == "shop:{shop:pets}:status:pending");
    CHECK(schema.status_bitmap(api::Status::sold)
          == "shop:{shop:pets}:status:sold");
    CHECK(schema.idempotency("acc", digest_of(0x01))
          == "shop:{shop:pets}:idempotency:acc:" + hex_of("01"));
}

TEST_CASE("the keys of an account share a slot, and so do the catalogue's",
          "[store]")
{
    const store::Schema schema("petstore");
    for (const auto& name : {schema.account_state("a1"), schema.strikes("a1"),
                             schema.bans("a1")}) {
        CHECK(slot_of(name) == "a1");
    }
    for (const auto& name :
         {schema.pet_count(), schema.changes(), schema.bucket(1),
          schema.status_bitmap(api::Status::sold),
          schema.idempotency("a1", digest_of(2))}) {
        CHECK(slot_of(name) == "petstore:pets");
    }
}

TEST_CASE("a prefix is a plain word", "[store]")
{
    for (const auto& good : {std::string("petstore"), std::string("a"),
                             std::string("Shop_2-b.c"), std::string(32, 'x')}) {
        CHECK(store::Schema::prefix_problem(good) == nullptr);
    }
    for (const auto& bad :
         {std::string(), std::string(33, 'x'), std::string("a:b"),
          std::string("a{b"), std::string("a}b"), std::string("a b"),
          std::string("a\n"), std::string("\xC3\xA4"), std::string(1, '\0')}) {
        CAPTURE(bad);
        CHECK(store::Schema::prefix_problem(bad) != nullptr);
    }
}
