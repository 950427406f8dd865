#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "answer_cache.h"
#include "bucket_cache.h"

namespace petstore::store {

// How many buckets a filtered page is looked for in. Where its status is rarer,
// the bitmap in Redis finds its pets sooner.
inline constexpr std::int64_t kMaxWalk = 16;

// Buckets `first` … `last`; none if `last` is smaller.
struct BucketSpan {
    std::int64_t first = 0;
    std::int64_t last = -1;
};

// The buckets that a pet or a page without a filter lies in; none for a
// filtered page, of which only the walk tells.
BucketSpan span_of(const ReadKey& key, const Version& now) noexcept;

// The pets that answer a read, as far as the buckets in memory have them.
// Borrows these: valid until the memory changes.
class Selection {
public:
    Selection(const ReadKey& key, const Version& now,
              BucketCache& buckets) noexcept;

    // False if a bucket is missing, out of date or too far away.
    bool complete() const noexcept { return complete_; }

    // The answer as of that version. Only of what is complete.
    std::shared_ptr<Answer> answer() const;

private:
    struct Piece {
        std::int64_t number;
        const Bucket* bucket;
        RowSet rows;
    };

    bool take_pet(const ReadKey& key, BucketCache& buckets) noexcept;
    bool take_page(const ReadKey& key, BucketCache& buckets) noexcept;
    void add(std::int64_t number, const Bucket& bucket, RowSet rows) noexcept;

    std::array<Piece, kMaxWalk> pieces_;
    std::size_t count_ = 0;
    std::size_t max_json_ = 2;  // bytes of the answer, brackets included
    const Version version_;
    const bool page_;
    bool more_ = false;
    const bool complete_;
};

}  // namespace petstore::store
