#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "bucket_cache.h"
#include "pet_ids.h"
#include "response_cache.h"

namespace petstore::store {

// The most buckets that are searched for a filtered page. For a rarer status
// the bitmap in Redis is faster.
inline constexpr std::int64_t kMaxWalk = 16;

// A read, and where in the catalogue it finds what it asks for.
struct LocatedRead {
    ReadKey key;
    // The pet's, or the last one before the page; 0 for none.
    Position position;
};

LocatedRead locate(const ReadKey& key, const PetIds& ids,
                   const Version& now) noexcept;

// The buckets that hold a pet or an unfiltered page. Empty for a filtered page,
// whose buckets only the search finds.
BucketSpan span_of(const LocatedRead& located, const Version& now) noexcept;

// The pets of a response, found in the cached buckets. Borrows these: valid
// until `buckets` changes.
class PageBuilder {
public:
    PageBuilder(const LocatedRead& located, const Version& now,
                BucketCache& buckets) noexcept;

    // False if a bucket is missing or outdated, or kMaxWalk is exceeded.
    bool complete() const noexcept { return complete_; }

    // The response as of `now`, with these ids. The selection must be complete.
    std::shared_ptr<CachedResponse> response(const PetIds& ids) const;

private:
    struct Piece {
        std::int64_t number;
        const Bucket* bucket;
        RowSet rows;
    };

    bool take_pet(Position position, BucketCache& buckets) noexcept;
    bool take_page(const LocatedRead& located, BucketCache& buckets) noexcept;
    void add(std::int64_t number, const Bucket& bucket, RowSet rows) noexcept;

    std::array<Piece, kMaxWalk> pieces_;
    std::size_t count_ = 0;
    std::size_t max_json_ = 2;  // bound on the body's bytes, with brackets
    const Version version_;
    const bool page_;
    bool more_ = false;
    const bool complete_;
};

}  // namespace petstore::store
