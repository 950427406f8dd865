#include "catch.h"

#include <string>

#include "store/key_cache.h"
#include "store/memory.h"

using namespace petstore;
using store::CachedKey;
using store::KeyCache;

namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;

api::Digest digest_of(int i)
{
    return api::sha256(std::to_string(i));
}

std::shared_ptr<CachedKey> key_of(int i)
{
    auto key = std::make_shared<CachedKey>();
    api::KeyRecord record;
    record.id = std::to_string(i);
    key->record = store::CachedRecord(record);
    return key;
}

// As petstorectl makes them: ids of 16 characters, an account for each key.
std::shared_ptr<CachedKey> usual_key_of(KeyCache& cache, int i)
{
    auto id = std::to_string(i);
    id.insert(0, 16 - id.size(), 'x');
    api::KeyRecord record;
    record.id = id;
    record.plan = "enterprise";
    auto key = std::make_shared<CachedKey>();
    key->record = store::CachedRecord(record);
    key->account = cache.account("a" + id.substr(1));
    return key;
}

}  // namespace

TEST_CASE("keys are found until they are erased", "[store]")
{
    KeyCache cache(kMegabyte);
    CHECK(cache.find(digest_of(1)) == nullptr);
    cache.put(digest_of(1), key_of(1));
    cache.put(digest_of(2), key_of(2));
    REQUIRE(cache.find(digest_of(1)) != nullptr);
    CHECK(cache.find(digest_of(1))->record.id() == "1");
    cache.put(digest_of(1), key_of(3));
    CHECK(cache.find(digest_of(1))->record.id() == "3");
    cache.erase(digest_of(1));
    cache.erase(digest_of(1));
    CHECK(cache.find(digest_of(1)) == nullptr);
    CHECK(cache.find(digest_of(2)) != nullptr);
}

TEST_CASE("a record in memory keeps what requests need", "[store]")
{
    api::KeyRecord record;
    record.id = "k1";
    record.plan = "gold";
    record.scopes = api::kScopeRead;
    record.expires = 5;
    record.disabled = true;
    const store::CachedRecord cached(record);
    CHECK(cached.id() == "k1");
    CHECK(cached.plan() == "gold");
    CHECK(cached.scopes == api::kScopeRead);
    CHECK(cached.expires == 5);
    CHECK(cached.disabled);
    CHECK(store::CachedRecord().id().empty());
    CHECK(store::CachedRecord().plan().empty());
}

TEST_CASE("keys stay within their memory, those in use longest", "[store]")
{
    KeyCache cache(kMegabyte);
    int kept = 0;
    for (int i = 0; i < 20'000; ++i) {
        cache.put(digest_of(i), usual_key_of(cache, i));
        if (cache.bytes() > kMegabyte) {
            FAIL_CHECK("key " << i << ": " << cache.bytes());
        }
        cache.find(digest_of(0));
        if (static_cast<int>(cache.size()) == i + 1) {
            kept = i + 1;
        }
    }
    CHECK(kept > 1400);
    CHECK(cache.size() > 1400);
    CHECK(cache.bytes() > kMegabyte * 8 / 10);
    CHECK(cache.find(digest_of(0)) != nullptr);
    // Their accounts went with them.
    cache.account("a00000000000000")->strikes = 7;
    CHECK(cache.account("a00000000000000")->strikes == 0);
}

TEST_CASE("keys of one account share its memory", "[store]")
{
    KeyCache cache(kMegabyte);
    const auto account = cache.account("a");
    const auto before = cache.bytes();
    for (int i = 0; i < 100; ++i) {
        auto key = key_of(i);
        key->account = account;
        cache.put(digest_of(i), key);
    }
    CHECK(cache.bytes() - before < 100 * 300);
    for (int i = 0; i < 100; ++i) {
        cache.erase(digest_of(i));
    }
    CHECK(cache.size() == 0);
    cache.put(digest_of(1), key_of(1));
    const auto one = cache.bytes();
    cache.put(digest_of(1), key_of(2));
    CHECK(cache.bytes() == one);
}

TEST_CASE("100,000 keys fit into what a worker has for them by default",
          "[store]")
{
    const store::MemoryShares shares(128 * kMegabyte);
    KeyCache cache(shares.keys);
    for (int i = 0; i < 100'000; ++i) {
        cache.put(digest_of(i), usual_key_of(cache, i));
    }
    CHECK(cache.size() == 100'000);
    CHECK(cache.bytes() <= shares.keys);
    // Responses, and pets with four times as much, have no less than they had
    // before keys were counted.
    CHECK(shares.responses >= 10 * kMegabyte);
    CHECK(shares.keys + 5 * shares.responses <= 128 * kMegabyte);
}

TEST_CASE("a key that alone takes too much is not kept", "[store]")
{
    KeyCache cache(kMegabyte);
    cache.put(digest_of(1), key_of(1));
    api::KeyRecord record;
    record.plan = std::string(kMegabyte / 2, 'x');
    auto key = std::make_shared<CachedKey>();
    key->record = store::CachedRecord(record);
    cache.put(digest_of(2), key);
    CHECK(cache.find(digest_of(2)) == nullptr);
    // Nor is what it takes the place of.
    cache.put(digest_of(1), key);
    CHECK(cache.find(digest_of(1)) == nullptr);
    CHECK(cache.size() == 0);
}

TEST_CASE("a flood of unknown keys pushes no known key out", "[store]")
{
    KeyCache cache(kMegabyte);
    for (int i = 0; i < 1000; ++i) {
        cache.put(digest_of(i), usual_key_of(cache, i));
    }
    for (int i = 1000; i < 50'000; ++i) {
        cache.put_unknown(digest_of(i), 1000);
        CHECK(cache.is_unknown(digest_of(i), 1000));
    }
    CHECK(cache.size() == 1000);
    // Bounded: the first ones are forgotten.
    CHECK_FALSE(cache.is_unknown(digest_of(1000), 1000));
}

TEST_CASE("an account may outlive the cache", "[store]")
{
    std::shared_ptr<store::Account> account;
    {
        KeyCache cache(kMegabyte);
        account = cache.account("a");
    }
    CHECK(account->id == "a");
}

TEST_CASE("that a key is unknown is remembered for less than a second",
          "[store]")
{
    KeyCache cache(kMegabyte);
    const auto digest = digest_of(1);
    CHECK_FALSE(cache.is_unknown(digest, 1000));
    cache.put_unknown(digest, 1000);
    CHECK(cache.is_unknown(digest, 1000));
    CHECK(cache.is_unknown(digest, 1000 + KeyCache::kUnknownFor - 1));
    CHECK_FALSE(cache.is_unknown(digest_of(2), 1000));
    CHECK(KeyCache::kUnknownFor + KeyCache::kUnknownAgain < 1000);
}

TEST_CASE("one request looks an unknown key up again, not all of them",
          "[store]")
{
    KeyCache cache(kMegabyte);
    const auto digest = digest_of(1);
    cache.put_unknown(digest, 1000);
    const auto later = 1000 + KeyCache::kUnknownFor;
    CHECK_FALSE(cache.is_unknown(digest, later));
    CHECK(cache.is_unknown(digest, later));
    CHECK(cache.is_unknown(digest, later + KeyCache::kUnknownAgain - 1));
    // It never heard of an answer.
    CHECK_FALSE(cache.is_unknown(digest, later + KeyCache::kUnknownAgain));
    // The key is known by now.
    cache.put(digest, key_of(1));
    CHECK_FALSE(cache.is_unknown(digest, later));
}

TEST_CASE("the keys of an account share what is known of it", "[store]")
{
    KeyCache cache(kMegabyte);
    auto account = cache.account("a");
    CHECK(cache.account("a") == account);
    CHECK(cache.account("b") != account);
    account->strikes = 5;
    account.reset();
    // With the last key it is forgotten.
    CHECK(cache.account("a")->strikes == 0);
}
