#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../../metrics/counter.h"
#include "bucket_cache.h"
#include "change_log.h"
#include "doorkeeper.h"
#include "pet_ids.h"
#include "pet_source.h"
#include "response_cache.h"

namespace petstore::store {

// A version that was read with a separate command, and the cache's generation
// when it arrived.
struct VersionInGeneration {
    Version version;
    std::uint64_t generation = 0;
};

// What one worker has read of the catalogue, and whether it is current: cached
// responses and buckets, the latest version, and the changes up to it. Sends
// nothing.
class ReadCache {
public:
    // `cache_bytes` bounds the cached responses; cached buckets take up to four
    // times as much. `lookups` is borrowed.
    ReadCache(const PetSource& source, metrics::CacheLookups& lookups,
              std::size_t cache_bytes);
    ReadCache(const ReadCache&) = delete;

    const PetSource& source() const noexcept { return source_; }

    // --- what is current -------------

    // Changes whenever pets and responses were dropped. What a read returns is
    // put here, or combined with a version read before it, only if the
    // generation has not changed since the read started.
    std::uint64_t generation() noexcept
    {
        drop_if_disconnected();
        return generation_;
    }

    // Changes only if what was read before may be gone from Redis. In a new
    // generation of the same history, commands have overtaken each other: what
    // was read after a version had arrived is as new as this version, but may
    // be older than one that has arrived since.
    std::uint64_t history() noexcept
    {
        drop_if_disconnected();
        return history_;
    }

    // For versions that do not come with the limiter's reply: `now` has just
    // arrived over the link.
    VersionInGeneration note(const Version& now) noexcept;

    // The latest version, which is `version` or a later one; nullopt if all
    // data were dropped since.
    std::optional<Version>
    latest_after(const VersionInGeneration& version) noexcept;

    // The latest version seen; empty if unknown.
    const Version& latest() const noexcept { return latest_; }

    // When buckets changed.
    ChangeLog& changes() noexcept { return changes_; }

    // The latest state whose changes are known.
    Version known() const noexcept;

    // --- ids -------------------------

    // The ids of all pets that exist at `now`; nullptr if not in memory.
    const PetIds* ids(const Version& now) const noexcept
    {
        return ids_ && changes_.all_unchanged(ids_read_, now.changes) ? &*ids_
                                                                      : nullptr;
    }

    // Those of the latest pets may be missing; nullptr if there are none in
    // memory.
    const PetIds* ids() const noexcept { return ids_ ? &*ids_ : nullptr; }

    // Whether it is known that no pet had this id at `now`.
    bool lacks(const ReadKey& key, const Version& now) const noexcept;

    // Read when there were `changes`, in the current history: the reply has
    // this number, too, so that commands may have overtaken each other.
    void put(PetIds ids, std::int64_t changes) noexcept
    {
        ids_ = std::move(ids);
        ids_read_ = changes;
    }

    // --- responses -------------------

    // The response if it is in memory and known to be current at `now`, the
    // latest version; else nullptr. Throws std::bad_alloc.
    SharedResponse find_latest(const ReadKey& key, const Version& now);

    // The same for any version up to which all changes are known.
    SharedResponse find_known(const ReadKey& key, const Version& now);

    // Builds a response from cached buckets alone; nullptr if they lack
    // something. Caches it if it replaces an outdated one (`keep`) or is built
    // for the second time: otherwise responses requested once would evict
    // popular ones. Throws std::bad_alloc.
    SharedResponse build(const ReadKey& key, const Version& now, bool keep);

    // Whether a response is cached, current or not.
    bool has(const ReadKey& key) noexcept
    {
        drop_if_disconnected();
        return responses_.find(key) != nullptr;
    }
    void put(const ReadKey& key, SharedResponse response) noexcept
    {
        responses_.put(key, std::move(response));
    }

    // --- buckets ---------------------

    BucketCache& buckets() noexcept { return buckets_; }

    // Whether a request needed the bucket before, so that it is worth loading.
    // Remembers the bucket if not, and forgets it if so: call once per miss.
    bool missed_before(std::int64_t bucket) noexcept
    {
        return missed_.seen_before(static_cast<std::uint64_t>(bucket));
    }

private:
    void drop_if_disconnected() noexcept;
    void drop_versioned() noexcept;
    void drop_all() noexcept;
    void advance(const Version& now) noexcept;

    const PetSource source_;
    metrics::CacheLookups& lookups_;
    ChangeLog changes_;
    ResponseCache responses_;
    BucketCache buckets_;
    Doorkeeper built_;   // responses built from buckets, by the key's hash
    Doorkeeper missed_;  // bucket numbers
    std::uint64_t connection_generation_ = 0;
    std::uint64_t reorderings_ = 0;
    std::uint64_t generation_ = 0;
    std::uint64_t history_ = 0;
    Version latest_;  // empty if unknown
    std::optional<PetIds> ids_;
    std::int64_t ids_read_ = 0;
};

}  // namespace petstore::store
