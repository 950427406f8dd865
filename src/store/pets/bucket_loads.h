#pragma once

#include <cstddef>
#include <cstdint>

#include "cache_load.h"
#include "page_builder.h"

namespace petstore::store {

// Reads a whole bucket into the cache. Everything else that its waiters need is
// already cached or arrives earlier.
class BucketLoad final
    : public CacheLoad<BucketLoad, Loaded::What::bucket, std::int64_t> {
public:
    // `version` was read earlier, so the bucket is at least as new. `serial`:
    // loads started later have a higher one, and arrive later.
    BucketLoad(Loads& loads, std::int64_t number, const Version& version,
               std::uint64_t serial, ReadCache& cache,
               Continuation& continuation);

    std::uint64_t serial() const noexcept { return serial_; }

    // Whether the bucket will be valid at `now`; it may lack the newest pets.
    bool serves(const Version& now) const noexcept;

private:
    void send_commands() override { send(source().commands.bucket(key())); }
    void take(std::size_t index, const redis::Reply& reply) override;
    void keep(const redis::Reply& reply) noexcept;

    const Version version_;
    const std::uint64_t serial_;
};

// Loads buckets that were needed before.
class BucketLoads {
public:
    // Borrows both.
    BucketLoads(ReadCache& cache, Continuation& continuation) noexcept
        : cache_(cache), continuation_(continuation)
    {}

    // Loads the buckets that the read lacks if they were missed before. Returns
    // the load that arrives last, or nullptr if the request should read without
    // buckets.
    BucketLoad* load_for(const LocatedRead& located, const Version& now);

    // Loads the buckets of a filtered page for later requests, if they were
    // missed before: which ones hold it is known only once the page was read.
    void load_for_later(const BucketSpan& span, const Version& now) noexcept;

private:
    // Call once per miss; see ReadCache::missed_before().
    bool missed_before(const std::int64_t* numbers, std::size_t count) noexcept;

    // nullptr if the command could not be sent. The bucket must not be loading.
    BucketLoad* load(std::int64_t number, const Version& now) noexcept;

    ReadCache& cache_;
    Continuation& continuation_;
    BucketLoad::Loads loads_;
    std::uint64_t started_ = 0;
};

}  // namespace petstore::store
