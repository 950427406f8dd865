#include "catch.h"

#include <string>

#include "store/key_cache.h"

using namespace petstore;
using store::CachedKey;
using store::KeyCache;

namespace {

api::Digest digest_of(int i)
{
    return api::sha256(std::to_string(i));
}

std::shared_ptr<CachedKey> key_of(int i)
{
    auto key = std::make_shared<CachedKey>();
    key->record.id = std::to_string(i);
    return key;
}

}  // namespace

TEST_CASE("keys are found until they are erased", "[store]")
{
    KeyCache cache;
    CHECK(cache.find(digest_of(1)) == nullptr);
    cache.put(digest_of(1), key_of(1));
    cache.put(digest_of(2), key_of(2));
    REQUIRE(cache.find(digest_of(1)) != nullptr);
    CHECK(cache.find(digest_of(1))->record.id == "1");
    cache.put(digest_of(1), key_of(3));
    CHECK(cache.find(digest_of(1))->record.id == "3");
    const auto key = cache.find(digest_of(1));
    cache.erase(digest_of(1), *key);
    cache.erase(digest_of(1), *key);
    CHECK(cache.find(digest_of(1)) == nullptr);
    CHECK(cache.find(digest_of(2)) != nullptr);
}

TEST_CASE("a stale record does not erase the newer one in its place", "[store]")
{
    KeyCache cache;
    const auto stale = key_of(1);
    cache.put(digest_of(1), stale);
    const auto newer = key_of(1);
    cache.put(digest_of(1), newer);
    cache.erase(digest_of(1), *stale);
    CHECK(cache.find(digest_of(1)) == newer);
}

TEST_CASE("the key that was not used longest makes room", "[store]")
{
    KeyCache cache;
    const auto key = key_of(0);
    const int most = static_cast<int>(KeyCache::kMaxKeys);
    for (int i = 0; i < most; ++i) {
        cache.put(digest_of(i), key);
    }
    CHECK(cache.find(digest_of(0)) == key);  // used again
    cache.put(digest_of(most), key);
    CHECK(cache.find(digest_of(0)) == key);
    CHECK(cache.find(digest_of(1)) == nullptr);
    CHECK(cache.find(digest_of(2)) == key);
    CHECK(cache.find(digest_of(most)) == key);
}

TEST_CASE("that a key is unknown is remembered for less than a second",
          "[store]")
{
    KeyCache cache;
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
    KeyCache cache;
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
    KeyCache cache;
    auto account = cache.account("a");
    CHECK(cache.account("a") == account);
    CHECK(cache.account("b") != account);
    account->strikes = 5;
    account.reset();
    // With the last key it is forgotten.
    CHECK(cache.account("a")->strikes == 0);
}
