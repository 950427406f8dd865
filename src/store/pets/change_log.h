#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../redis/reply.h"
#include "record.h"

namespace petstore::store {

// When each bucket last changed, as far as one worker has read the change log
// in Redis. A time is a number of changes (Version::changes).
//
// set_status.lua appends an entry "<changes>:<bucket>" for each change. Other
// ways to raise the number (the start of a segment of PetIds, `petstorectl
// cache clear`, an operator) append none; a number without an entry counts as
// a change of all buckets.
class ChangeLog {
public:
    // Entries that set_status.lua keeps in Redis.
    static constexpr std::int64_t kLength = 1024;

    // Buckets may share a place; a change of one then counts for all of them.
    // There are at most 65,536 places.
    explicit ChangeLog(std::size_t places) noexcept;

    // The latest time up to which all changes are known; 0 for none.
    std::int64_t known() const noexcept { return known_; }

    // Whether the log may still have all changes from known() to `now`.
    bool reaches(std::int64_t now) const noexcept
    {
        return known_ != 0 && now - known_ <= kLength;
    }

    // How many of the newest entries to read to know all changes up to `now`.
    std::int64_t entries_until(std::int64_t now) const noexcept;

    // Adds the newest entries, oldest first, which were read when the time was
    // `now` or later. If they lack a change or are malformed, all buckets count
    // as changed.
    void add(const redis::Reply& entries, std::int64_t now) noexcept;

    // All buckets may have changed at `now`.
    void add_unknown(std::int64_t now) noexcept;

    // Forgets everything, because the data now have another history.
    void clear() noexcept;

    // Whether data of the buckets that were read at the time `read`, or later,
    // are valid at `now`.
    bool unchanged(const BucketSpan& buckets, std::int64_t read,
                   std::int64_t now) const noexcept
    {
        return read >= now
               || (now <= known_ && all_changed_ <= read
                   && last_change(buckets) <= read);
    }

    // The same for data that only a change of all buckets outdates.
    bool all_unchanged(std::int64_t read, std::int64_t now) const noexcept
    {
        return read >= now || (now <= known_ && all_changed_ <= read);
    }

private:
    std::size_t place_of(std::int64_t bucket) const noexcept
    {
        return static_cast<std::size_t>(bucket) & (places_ - 1);
    }

    // Throws std::bad_alloc.
    void set_changed(std::int64_t bucket, std::int64_t change);

    std::int64_t last_change(const BucketSpan& buckets) const noexcept;

    std::int64_t known_ = 0;
    std::int64_t all_changed_ = 0;
    // A power of two. Consecutive buckets have different places.
    const std::size_t places_;
    // By place, up to the last one that has changed: most stores change few
    // pets.
    std::vector<std::int64_t> changed_;
};

}  // namespace petstore::store
