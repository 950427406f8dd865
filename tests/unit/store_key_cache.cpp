#include "catch.h"

#include <malloc.h>

#include <string>
#include <vector>

#include "store/keys/key_cache.h"
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

store::Ref<CachedKey> key_of(int i)
{
    auto key = store::make_ref<CachedKey>();
    api::KeyRecord record;
    record.id = std::to_string(i);
    key->record = store::CachedRecord(record, {}, "free");
    return key;
}

// Like keys created by petstorectl: ids of 16 characters, one account per key.
store::Ref<CachedKey> usual_key_of(KeyCache& cache, int i)
{
    auto id = std::to_string(i);
    id.insert(0, 16 - id.size(), 'x');
    api::KeyRecord record;
    record.id = id;
    auto key = store::make_ref<CachedKey>();
    key->record = store::CachedRecord(record, {}, "enterprise");
    key->account = cache.account("a" + id.substr(1));
    return key;
}

// Bytes of blocks in use, large ones included.
std::size_t used(const struct mallinfo2& heap)
{
    return heap.uordblks + heap.hblkhd;
}

std::size_t used_heap()
{
    return used(mallinfo2());
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
    const auto key = cache.find(digest_of(1));
    cache.erase(digest_of(1), *key);
    cache.erase(digest_of(1), *key);
    CHECK(cache.find(digest_of(1)) == nullptr);
    CHECK(cache.find(digest_of(2)) != nullptr);
}

TEST_CASE("a stale record does not erase the newer one in its place", "[store]")
{
    KeyCache cache(kMegabyte);
    const auto stale = key_of(1);
    cache.put(digest_of(1), stale);
    const auto newer = key_of(1);
    cache.put(digest_of(1), newer);
    cache.erase(digest_of(1), *stale);
    CHECK(cache.find(digest_of(1)) == newer);
}

TEST_CASE("a cached record keeps what requests need", "[store]")
{
    api::KeyRecord record;
    record.id = "k1";
    record.scopes = api::kScopeRead;
    record.further_scopes = "admin,reports";
    record.expires = 5;
    record.disabled = true;
    api::AccountRecord account;
    account.external_id = std::string(128, 'x');
    const store::CachedRecord cached(record, account, "gold");
    CHECK(cached.id() == "k1");
    CHECK(cached.plan() == "gold");
    CHECK(cached.external_id() == account.external_id);
    CHECK(cached.further_scopes() == "admin,reports");
    CHECK(cached.scopes == api::kScopeRead);
    CHECK(cached.expires == 5);
    CHECK(cached.disabled);
    CHECK(store::CachedRecord().id().empty());
    CHECK(store::CachedRecord().plan().empty());
    CHECK(store::CachedRecord().external_id().empty());
    CHECK(store::CachedRecord().further_scopes().empty());
}

TEST_CASE("a disabled account disables its keys", "[store]")
{
    api::AccountRecord account;
    CHECK_FALSE(store::CachedRecord({}, account, "free").disabled);
    account.disabled = true;
    CHECK(store::CachedRecord({}, account, "free").disabled);
}

TEST_CASE("ids, plan and a short external id need no memory of their own",
          "[store]")
{
    api::KeyRecord record;
    record.id = std::string(16, 'k');
    api::AccountRecord account;
    account.external_id = "customer_42";
    const store::CachedRecord cached(record, account, "business");
    CHECK(cached.owned_bytes() == 0);
    CHECK(sizeof(cached) == 64);
    CHECK(sizeof(CachedKey) == 184);  // a block of 192
}

TEST_CASE("keys stay within their memory, and those in use stay longest",
          "[store]")
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
    // Their accounts were dropped with them.
    cache.account("a00000000000000")->add_unreported({7, 7});
    CHECK_FALSE(cache.account("a00000000000000")->has_denials());
}

TEST_CASE("a new key evicts a few, not many, whatever the memory", "[store]")
{
    constexpr int kKeys = 10'000;
    std::vector<api::Digest> digests;
    for (int i = 0; i < kKeys; ++i) {
        digests.push_back(digest_of(i));
    }
    for (std::size_t max = 200'000; max < 2'000'000; max += max / 20) {
        INFO(max << " bytes");
        KeyCache cache(max);
        std::size_t most = 0;  // evictions by one put
        for (int i = 0; i < kKeys; ++i) {
            const std::size_t before = cache.size();
            cache.put(digests[static_cast<std::size_t>(i)],
                      usual_key_of(cache, i));
            most = std::max(most, before + 1 - cache.size());
        }
        CHECK(most <= 3);
        CHECK(cache.bytes() > max * 7 / 10);
    }
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
        cache.erase(digest_of(i), *cache.find(digest_of(i)));
    }
    CHECK(cache.size() == 0);
    cache.put(digest_of(1), key_of(1));
    const auto one = cache.bytes();
    cache.put(digest_of(1), key_of(2));
    CHECK(cache.bytes() == one);
}

TEST_CASE("100,000 keys fit into a worker's default memory", "[store]")
{
    const store::MemoryShares shares(128 * kMegabyte);
    KeyCache cache(shares.keys);
    for (int i = 0; i < 100'000; ++i) {
        cache.put(digest_of(i), usual_key_of(cache, i));
    }
    CHECK(cache.size() == 100'000);
    CHECK(cache.bytes() <= shares.keys);
    // Keys leave enough memory for responses, and for buckets, which take four
    // times as much.
    CHECK(shares.responses >= 10 * kMegabyte);
    CHECK(shares.keys + 5 * shares.responses <= 128 * kMegabyte);
}

TEST_CASE("a cached key with its account takes at most 400 bytes of the heap",
          "[store]")
{
    // Tables double, so memory per key varies with the number of keys. For up
    // to 100,000 keys it is largest just after a doubling.
    constexpr int kMost = 65'537;
    std::vector<api::Digest> digests;
    for (int i = 0; i < kMost; ++i) {
        digests.push_back(digest_of(i));
    }
    // What the first cache of a process allocates once and keeps.
    KeyCache(kMegabyte).put(digests[0], key_of(0));
    for (const int count : {10'000, 32'769, kMost}) {
        INFO(count << " keys");
        const auto before = mallinfo2();
        {
            KeyCache cache(64 * kMegabyte);
            for (int i = 0; i < count; ++i) {
                cache.put(digests[static_cast<std::size_t>(i)],
                          usual_key_of(cache, i));
            }
            REQUIRE(cache.size() == static_cast<std::size_t>(count));
            const auto heap = used_heap() - used(before);
            INFO(heap << " bytes of the heap, " << cache.bytes() << " counted");
            CHECK(cache.bytes() <= 400 * cache.size());
            // AddressSanitizer's allocator reports nothing.
            if (heap != 0) {
                CHECK(heap <= 400 * cache.size());
                CHECK(heap > cache.bytes() * 95 / 100);
                CHECK(heap < cache.bytes() * 105 / 100);
            }
        }
        // All of it is freed with the cache.
        CHECK(used_heap() < used(before) + kMegabyte / 16);
    }
}

TEST_CASE("an account that is denied counts with its denial", "[store]")
{
    KeyCache cache(kMegabyte);
    cache.put(digest_of(0), usual_key_of(cache, 0));
    const auto key = cache.find(digest_of(0));
    const auto before = cache.bytes();
    api::Decision decision;
    decision.verdict = api::Verdict::limited;
    key->account->remember(decision, 0, 1000, 1000);
    const auto denied = cache.bytes();
    CHECK(denied >= before + sizeof(api::Decision));
    key->account->remember(decision, 0, 2000, 2000);
    CHECK(cache.bytes() == denied);
}

TEST_CASE("accounts that are denied evict keys from a full cache", "[store]")
{
    KeyCache cache(kMegabyte);
    std::vector<store::Ref<store::Account>> accounts;
    const auto full = [&] { return cache.bytes() > kMegabyte * 15 / 16 - 500; };
    for (int i = 0; !full(); ++i) {
        auto key = usual_key_of(cache, i);
        accounts.push_back(key->account);
        cache.put(digest_of(i), std::move(key));
    }
    const auto before = cache.size();
    api::Decision decision;
    decision.verdict = api::Verdict::limited;
    for (std::size_t i = 0; i < accounts.size(); ++i) {
        accounts[i]->remember(decision, 0, 1000, 1000);
        accounts[i].reset();
        cache.find(digest_of(static_cast<int>(i)));
        if (cache.bytes() > kMegabyte) {
            FAIL_CHECK("account " << i << ": " << cache.bytes());
        }
    }
    CHECK(cache.size() < before);
    CHECK(cache.size() > before / 2);
}

TEST_CASE("the later of two keys whose digests start alike is cached",
          "[store]")
{
    KeyCache cache(kMegabyte);
    const auto first = digest_of(1);
    auto second = first;
    second.back() ^= 1;
    cache.put(first, key_of(1));
    CHECK(cache.find(second) == nullptr);
    cache.put(second, key_of(2));
    CHECK(cache.find(first) == nullptr);
    REQUIRE(cache.find(second) != nullptr);
    CHECK(cache.find(second)->record.id() == "2");
    CHECK(cache.size() == 1);
}

TEST_CASE("a key larger than a quarter of the memory is not kept", "[store]")
{
    KeyCache cache(kMegabyte);
    cache.put(digest_of(1), key_of(1));
    api::KeyRecord record;
    record.further_scopes = std::string(kMegabyte / 2, 'x');
    auto key = store::make_ref<CachedKey>();
    key->record = store::CachedRecord(record, {}, "free");
    cache.put(digest_of(2), key);
    CHECK(cache.find(digest_of(2)) == nullptr);
    // It evicts the record that it was to replace.
    cache.put(digest_of(1), key);
    CHECK(cache.find(digest_of(1)) == nullptr);
    CHECK(cache.size() == 0);
}

TEST_CASE("a flood of unknown keys evicts no known key", "[store]")
{
    KeyCache cache(kMegabyte);
    for (int i = 0; i < 1000; ++i) {
        cache.put(digest_of(i), usual_key_of(cache, i));
    }
    for (int i = 1000; i < 50'000; ++i) {
        cache.put_refused(digest_of(i), {api::KeyRefusal::unknown, nullptr},
                          1000 + KeyCache::kRefusedFor);
        CHECK(cache.find_refused(digest_of(i), 1000));
    }
    CHECK(cache.size() == 1000);
    // The number is bounded: the first keys are forgotten.
    CHECK_FALSE(cache.find_refused(digest_of(1000), 1000));
}

TEST_CASE("an unknown key is remembered for less than a second", "[store]")
{
    KeyCache cache(kMegabyte);
    const auto digest = digest_of(1);
    CHECK_FALSE(cache.find_refused(digest, 1000));
    cache.put_refused(digest, {api::KeyRefusal::unknown, nullptr},
                      1000 + KeyCache::kRefusedFor);
    CHECK(cache.find_refused(digest, 1000));
    CHECK(cache.find_refused(digest, 1000 + KeyCache::kRefusedFor - 1));
    CHECK_FALSE(cache.find_refused(digest_of(2), 1000));
    CHECK(KeyCache::kRefusedFor + KeyCache::kRefusedAgain < 1000);
}

TEST_CASE("only one request looks up an unknown key again", "[store]")
{
    KeyCache cache(kMegabyte);
    const auto digest = digest_of(1);
    cache.put_refused(digest, {api::KeyRefusal::unknown, nullptr},
                      1000 + KeyCache::kRefusedFor);
    const auto later = 1000 + KeyCache::kRefusedFor;
    CHECK_FALSE(cache.find_refused(digest, later));
    CHECK(cache.find_refused(digest, later));
    CHECK(cache.find_refused(digest, later + KeyCache::kRefusedAgain - 1));
    // The lookup never got a reply: the refusal is not repeated any more.
    CHECK_FALSE(cache.find_refused(digest, later + KeyCache::kRefusedAgain));
    CHECK_FALSE(cache.find_refused(digest, later + KeyCache::kRefusedAgain));
    // The next one got a reply.
    cache.put_refused(digest, {api::KeyRefusal::unknown, nullptr},
                      later + KeyCache::kRefusedFor);
    CHECK(cache.find_refused(digest, later + KeyCache::kRefusedFor - 1));
    // An old refusal is none, for any of the requests at that moment.
    const auto old = later + KeyCache::kRefusedFor + KeyCache::kRefusedAgain;
    CHECK_FALSE(cache.find_refused(digest, old));
    CHECK_FALSE(cache.find_refused(digest, old));
    // The key is cached now.
    cache.put_refused(digest, {api::KeyRefusal::unknown, nullptr},
                      later + KeyCache::kRefusedFor);
    cache.put(digest, key_of(1));
    CHECK_FALSE(cache.find_refused(digest, later));
}

TEST_CASE("a refused key is remembered with its id and the reason", "[store]")
{
    KeyCache cache(kMegabyte);
    const auto digest = digest_of(1);
    cache.put_refused(digest,
                      {api::KeyRefusal::disabled,
                       std::make_shared<const std::string>("an-id")},
                      1000 + KeyCache::kRefusedFor);
    const auto* refused = cache.find_refused(digest, 1000);
    REQUIRE(refused != nullptr);
    CHECK(refused->refusal == api::KeyRefusal::disabled);
    CHECK(*refused->id == "an-id");

    cache.put_refused(digest, {api::KeyRefusal::unknown, nullptr},
                      1000 + KeyCache::kRefusedFor);
    refused = cache.find_refused(digest, 1000);
    REQUIRE(refused != nullptr);
    CHECK(refused->refusal == api::KeyRefusal::unknown);
    CHECK(refused->id == nullptr);
}

TEST_CASE("the ids of refused keys count towards the memory", "[store]")
{
    const auto remembered = [](std::size_t id_size) {
        KeyCache cache(kMegabyte);
        const auto id = std::make_shared<const std::string>(id_size, 'x');
        int count = 0;
        do {
            cache.put_refused(digest_of(++count),
                              {api::KeyRefusal::expired, id},
                              1000 + KeyCache::kRefusedFor);
        } while (cache.find_refused(digest_of(1), 1000) != nullptr);
        return count;
    };
    CHECK(remembered(1000) < 64);  // 1/16 of the memory
    CHECK(remembered(10) > 4 * remembered(1000));
    // An id larger than the limit is still remembered until the next one.
    CHECK(remembered(100'000) == 2);
}
