#include "read_cache.h"

#include <algorithm>
#include <utility>

#include "page_builder.h"

namespace petstore::store {

namespace {

// A million pets take some 30 MB as buckets and ten times that as responses. So
// buckets get room for a whole catalogue, responses for the most popular ones.
constexpr std::size_t kBucketShare = 4;

// Typical sizes, for the number of places in a doorkeeper or in the change log:
// a page of 20, and a bucket of pets with names of 20 characters.
constexpr std::size_t kResponseBytes = 2048;
constexpr std::size_t kBucketBytes = 4096;

}  // namespace

ReadCache::ReadCache(const PetSource& source, metrics::CacheLookups& lookups,
                     std::size_t cache_bytes)
    : source_(source), lookups_(lookups),
      changes_(kBucketShare * cache_bytes / kBucketBytes),
      responses_(cache_bytes), buckets_(kBucketShare * cache_bytes, changes_),
      built_(cache_bytes / kResponseBytes),
      missed_(kBucketShare * cache_bytes / kBucketBytes)
{}

// A failover or restart may have undone what was read before. If commands
// overtook each other, a version may be newer than the data that were read
// after it.
void ReadCache::drop_if_disconnected() noexcept
{
    const std::string_view key = source_.schema().catalogue();
    const std::uint64_t now = source_.link.connection_generation(key);
    const std::uint64_t reorderings = source_.link.reorderings(key);
    const bool reordered =
        std::exchange(reorderings_, reorderings) != reorderings;
    if (std::exchange(connection_generation_, now) != now) {
        latest_ = {};
        drop_all();
    } else if (reordered) {
        latest_ = {};
        drop_versioned();
    }
}

// Drops what is current only if versions arrive in their order.
void ReadCache::drop_versioned() noexcept
{
    ++generation_;
    responses_.clear();
    buckets_.clear();
    changes_.clear();
}

void ReadCache::drop_all() noexcept
{
    ++history_;
    drop_versioned();
    ids_.reset();
}

void ReadCache::advance(const Version& now) noexcept
{
    if (now.count < latest_.count || now.changes < latest_.changes) {
        drop_all();  // the catalogue was set back
    }
    latest_ = now;
    if (!changes_.reaches(now.changes)) {
        changes_.add_unknown(now.changes);
    }
}

VersionInGeneration ReadCache::note(const Version& now) noexcept
{
    drop_if_disconnected();
    if (now.damage() == Version::Damage::none) {
        advance(now);
    }
    return {now, generation_};
}

// Replies to the limiter and versions come over two connections, so a request
// may need its version when later ones have arrived. Using the older one would
// look as if the catalogue had been set back.
std::optional<Version>
ReadCache::latest_after(const VersionInGeneration& version) noexcept
{
    if (version.generation != generation()) {
        return std::nullopt;
    }
    return version.version.damage() == Version::Damage::none ? latest_
                                                             : version.version;
}

Version ReadCache::known() const noexcept
{
    return {latest_.count, std::min(latest_.changes, changes_.known())};
}

bool ReadCache::lacks(const ReadKey& key, const Version& now) const noexcept
{
    const PetIds* const ids = this->ids(now);
    return key.is_pet() && ids != nullptr
           && ids->position_of(key.id, now.count) == 0;
}

SharedResponse ReadCache::find_latest(const ReadKey& key, const Version& now)
{
    drop_if_disconnected();
    if (now.damage() != Version::Damage::none) {
        return nullptr;
    }
    advance(now);
    return now.is_empty() || now.changes > changes_.known()
               ? nullptr
               : find_known(key, now);
}

SharedResponse ReadCache::find_known(const ReadKey& key, const Version& now)
{
    const auto* cached = responses_.find(key);
    if (cached == nullptr && lacks(key, now)) {
        return nullptr;
    }
    const bool current =
        cached != nullptr && (*cached)->is_current(now, changes_);
    lookups_.response.add(current);
    if (current) {
        return *cached;
    }
    return build(key, now, cached != nullptr);
}

SharedResponse ReadCache::build(const ReadKey& key, const Version& now,
                                bool keep)
{
    const PetIds* const ids = this->ids(now);
    if (ids == nullptr) {
        lookups_.pet.add(false);
        return nullptr;
    }
    const PageBuilder page(locate(key, *ids, now), now, buckets_);
    lookups_.pet.add(page.complete());
    if (!page.complete()) {
        return nullptr;
    }
    auto response = page.response(*ids);
    if (keep || built_.seen_before(ReadKey::Hash()(key))) {
        responses_.put(key, response);
    }
    return response;
}

}  // namespace petstore::store
