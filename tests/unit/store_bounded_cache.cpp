#include "catch.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>

#include "store/bounded_cache.h"
#include "store/mix.h"

namespace {

struct Mixed {
    std::size_t operator()(std::int64_t key) const
    {
        return petstore::store::mix(static_cast<std::uint64_t>(key));
    }
};

struct Counted : Mixed {
    static inline long calls = 0;
    std::size_t operator()(std::int64_t key) const
    {
        ++calls;
        return Mixed::operator()(key);
    }
};

// Every key starts in the last slot of the table.
struct Colliding {
    std::size_t operator()(std::int64_t) const { return ~std::size_t{0}; }
};

struct Value {
    int number = 0;
    std::size_t bytes = 0;
    std::shared_ptr<int> alive;  // counts the values that the cache owns
};

struct Bytes {
    std::size_t operator()(const Value& value) const { return value.bytes; }
};

template <typename Hash>
using Cache = petstore::store::BoundedCache<std::int64_t, Value, Hash, Bytes>;

}  // namespace

TEMPLATE_TEST_CASE("a bounded cache returns the value that was put last",
                   "[store]", Mixed, Colliding)
{
    constexpr std::size_t kMax = 64 * 1024;
    Cache<TestType> cache(kMax);
    std::map<std::int64_t, int> last;
    std::mt19937 random(20301205);
    const auto alive = std::make_shared<int>();
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t key = random() % 300 - 20;
        if (random() % 2) {
            cache.put(key, {i, random() % 2000, alive});
            last[key] = i;
        } else if (random() % 8 == 0) {
            cache.erase(key);
            last.erase(key);
        } else if (const auto* found = cache.find(key)) {
            REQUIRE(found->number == last.at(key));
        }
        REQUIRE(cache.bytes() <= kMax);
        REQUIRE(alive.use_count() == static_cast<long>(cache.size()) + 1);
    }
    CHECK(cache.size() > 20);
    CHECK(cache.bytes() > kMax / 2);
    cache.clear();
    CHECK(cache.bytes() == 0);
    CHECK(cache.size() == 0);
    CHECK(alive.use_count() == 1);
    CHECK(cache.find(1) == nullptr);
}

TEMPLATE_TEST_CASE("a bounded cache erases one value", "[store]", Mixed,
                   Colliding)
{
    Cache<TestType> cache(64 * 1024);
    const auto alive = std::make_shared<int>();
    cache.erase(1);
    for (int i = 0; i < 100; ++i) {
        cache.put(i, {i, 10, alive});
    }
    for (int i = 0; i < 100; i += 2) {
        cache.erase(i);
        cache.erase(i);
    }
    CHECK(cache.size() == 50);
    CHECK(alive.use_count() == 51);
    for (int i = 0; i < 100; ++i) {
        const auto* found = cache.find(i);
        CHECK((found != nullptr) == (i % 2 == 1));
        CHECK((found == nullptr || found->number == i));
    }
}

TEST_CASE("a bounded cache grows by a few entries at a time", "[store]")
{
    constexpr int kValues = 300'000;
    Cache<Counted> cache(std::size_t{256} * 1024 * 1024);
    long most = 0;
    for (int i = 0; i < kValues; ++i) {
        const long before = Counted::calls;
        cache.put(i, {i, 10, nullptr});
        most = std::max(most, Counted::calls - before);
    }
    CHECK(most < 1000);
    REQUIRE(cache.size() == kValues);
    for (int i = 0; i < kValues; ++i) {
        const auto* found = cache.find(i);
        REQUIRE(found != nullptr);
        REQUIRE(found->number == i);
    }
}

TEST_CASE("a bounded cache keeps what is used while it grows", "[store]")
{
    constexpr int kFull = 128;  // half of 256 slots
    const auto alive = std::make_shared<int>();
    Cache<Mixed> cache(std::size_t{1024} * 1024);
    for (int i = 0; i < kFull; ++i) {
        cache.put(i, {i, 10, alive});
    }
    const std::size_t before = cache.bytes();
    for (int i = 0; i < kFull / 2; ++i) {
        REQUIRE(cache.find(i));
    }
    cache.put(kFull, {kFull, 10, alive});
    CHECK(cache.bytes() > 2 * before);  // the old table and the new one
    for (int i = 0; i < 40; ++i) {
        cache.evict_one();
    }
    CHECK(alive.use_count() == kFull + 1 - 40 + 1);
    for (int i = 0; i < kFull / 2; ++i) {
        CHECK(cache.find(i));
    }
    // The old table is freed with its last entry.
    for (int i = 0; i < 8; ++i) {
        cache.put(-1, {i, 10, alive});
    }
    CHECK(cache.bytes() < 2 * before);
}

TEST_CASE("a bounded cache does not grow at the cost of its entries", "[store]")
{
    constexpr int kValues = 20'000;
    for (std::size_t max = 100'000; max < 8'000'000; max += max / 10) {
        INFO(max << " bytes");
        Cache<Mixed> cache(max);
        std::size_t most = 0;  // evictions by one put
        for (int i = 0; i < kValues; ++i) {
            const std::size_t before = cache.size();
            cache.put(i, {i, 300, nullptr});
            most = std::max(most, before + 1 - cache.size());
        }
        CHECK(most <= 2);
        CHECK(cache.bytes() <= max);
        CHECK((cache.size() == kValues || cache.bytes() > max / 2));
    }
}

TEST_CASE("a bounded cache keeps what is used", "[store]")
{
    Cache<Mixed> cache(64 * 1024);
    cache.put(-1, {7, 1000, nullptr});
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(cache.find(-1));
        cache.put(i, {i, 1000, nullptr});
    }
    CHECK(cache.find(-1)->number == 7);
    CHECK(cache.find(3) == nullptr);
}

TEST_CASE("a bounded cache refuses values of more than a quarter", "[store]")
{
    Cache<Mixed> cache(64 * 1024);
    cache.put(1, {1, 16 * 1024 + 1, nullptr});
    CHECK(cache.find(1) == nullptr);
    CHECK(cache.bytes() == 0);
    // The previous value stays.
    cache.put(1, {2, 16 * 1024, nullptr});
    cache.put(1, {3, 16 * 1024 + 1, nullptr});
    REQUIRE(cache.find(1));
    CHECK(cache.find(1)->number == 2);
}

TEST_CASE("small values do not grow the array of a bounded cache without bound",
          "[store]")
{
    constexpr std::size_t kMax = 64 * 1024;
    Cache<Mixed> cache(kMax);
    for (int i = 0; i < 100'000; ++i) {
        cache.put(i, {i, 1, nullptr});
        REQUIRE(cache.bytes() <= kMax);
    }
    CHECK(cache.size() > 100);
    int found = 0;
    for (int i = 0; i < 100'000; ++i) {
        if (const auto* value = cache.find(i)) {
            CHECK(value->number == i);
            ++found;
        }
    }
    CHECK(found == static_cast<int>(cache.size()));
}

TEST_CASE("a bounded cache without room keeps nothing", "[store]")
{
    const std::size_t bytes = GENERATE(0, 1, 100, 1000);
    Cache<Mixed> cache(bytes);
    for (int i = 0; i < 100; ++i) {
        cache.put(i, {i, 0, nullptr});
        CHECK(cache.find(i) == nullptr);
        CHECK(cache.bytes() == 0);
    }
}
