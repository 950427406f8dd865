#include "catch.h"

#include <string>
#include <vector>

#include "store/pets/bucket_cache.h"
#include "store/pets/doorkeeper.h"
#include "store_replies.h"

using namespace petstore;
using store::Bucket;
using store::BucketCache;
using store::Version;

namespace {

Bucket bucket_with(int size, std::size_t name = 20)
{
    Replies replies;
    return *Bucket::parse(replies(
        array(std::vector<std::string>(static_cast<std::size_t>(size),
                                       bulk("a1:" + std::string(name, 'n'))))));
}

}  // namespace

TEST_CASE("a bucket is valid until a pet is changed", "[store]")
{
    const store::ChangeLog log(1);
    BucketCache cache(1 << 20, log);
    CHECK(cache.find(2, {384, 7}) == nullptr);
    cache.put(2, bucket_with(128), 7);
    CHECK(cache.find(2, {384, 7}) != nullptr);
    CHECK(cache.find(2, {999, 7}) != nullptr);
    CHECK(cache.find(2, {999, 8}) == nullptr);
    CHECK(cache.find(1, {999, 7}) == nullptr);
    cache.clear();
    CHECK(cache.find(2, {384, 7}) == nullptr);
    CHECK(cache.bytes() == 0);
}

TEST_CASE("the last bucket may lack the newest pets", "[store]")
{
    const store::ChangeLog log(1);
    BucketCache cache(1 << 20, log);
    cache.put(1, bucket_with(10), 7);
    CHECK(cache.has(1, {138, 7}));
    CHECK(cache.has(1, {137, 7}));
    CHECK_FALSE(cache.has(1, {139, 7}));
    CHECK(cache.find(1, {139, 7})->size() == 10);
    cache.put(1, bucket_with(11), 7);
    CHECK(cache.has(1, {139, 7}));

    CHECK(store::rows_at(1, {128, 7}) == 0);
    CHECK(store::rows_at(1, {129, 7}) == 1);
    CHECK(store::rows_at(1, {256, 7}) == 128);
    CHECK(store::rows_at(1, {9999, 7}) == 128);
    CHECK(store::rows_at(99, {1, 7}) == 0);
}

TEST_CASE("cached buckets stay within their bound", "[store]")
{
    constexpr std::size_t kMax = 64 * 1024;
    const store::ChangeLog log(1);
    BucketCache cache(kMax, log);
    for (int i = 0; i < 1000; ++i) {
        cache.put(i % 300, bucket_with(i % 129, std::size_t(1 + i % 40)), 1);
        REQUIRE(cache.bytes() <= kMax);
    }
    // A bucket that would evict most others is not kept.
    cache.put(7, bucket_with(128, 1000), 1);
    CHECK(cache.find(7, {1 << 20, 1}) == nullptr);
    CHECK(cache.bytes() > kMax / 2);
}

TEST_CASE("buckets of a catalogue that is far too large can be cached",
          "[store]")
{
    constexpr std::size_t kMax = 64 * 1024;
    const store::ChangeLog log(1);
    BucketCache cache(kMax, log);
    const Version now{std::int64_t{1} << 52, 1};
    for (const std::int64_t number :
         {std::int64_t{1} << 45, std::int64_t{kMax}, std::int64_t{500}}) {
        cache.put(number, bucket_with(128), 1);
        CHECK(cache.find(number, now) != nullptr);
        CHECK(cache.find(number + 1, now) == nullptr);
        CHECK(cache.bytes() <= kMax);
    }
}

TEST_CASE("a bucket that is used stays cached", "[store]")
{
    const store::ChangeLog log(1);
    BucketCache cache(64 * 1024, log);
    cache.put(0, bucket_with(128), 1);
    cache.put(1, bucket_with(128), 1);
    for (int i = 2; i < 100; ++i) {
        CHECK(cache.find(0, {1 << 20, 1}) != nullptr);
        cache.put(i, bucket_with(128), 1);
    }
    CHECK(cache.find(0, {1 << 20, 1}) != nullptr);
    CHECK(cache.find(1, {1 << 20, 1}) == nullptr);
}

TEST_CASE("a doorkeeper knows a key the second time, then forgets it",
          "[store]")
{
    store::Doorkeeper door(10);
    CHECK_FALSE(door.seen_before(3));
    CHECK(door.seen_before(3));
    CHECK_FALSE(door.seen_before(3));
    // Another key takes its place.
    CHECK_FALSE(door.seen_before(13));
    CHECK_FALSE(door.seen_before(3));
    CHECK_FALSE(door.seen_before(0));
    CHECK(door.seen_before(3));
    CHECK_FALSE(store::Doorkeeper(0).seen_before(5));
}

TEST_CASE("a doorkeeper keeps its visitors while it grows", "[store]")
{
    constexpr std::uint64_t kVisitors = 1000;
    store::Doorkeeper door(100'000);
    for (std::uint64_t i = 0; i < kVisitors; ++i) {
        CHECK_FALSE(door.seen_before(i));
    }
    for (std::uint64_t i = 0; i < kVisitors; ++i) {
        CHECK(door.seen_before(i));
    }
}
