#include "bucket_loads.h"

#include <utility>

#include "../../redis/error_table.h"

namespace petstore::store {

BucketLoad::BucketLoad(Loads& loads, std::int64_t number,
                       const Version& version, std::uint64_t serial,
                       ReadCache& cache, Continuation& continuation)
    : CacheLoad(loads, number, cache, continuation), version_(version),
      serial_(serial)
{}

bool BucketLoad::serves(const Version& now) const noexcept
{
    return cache().changes().unchanged({key(), key()}, version_.changes,
                                       now.changes);
}

void BucketLoad::take(std::size_t, const redis::Reply& reply)
{
    if (reply.is_error() && !redis::is_wrong_type(reply)) {
        fail(failure_of(reply, Purpose::read));
    } else if (is_current()) {
        keep(reply);
    }
}

// A bucket that is damaged or lacks pets is not kept. Its waiters read their
// pets one by one, which fails those that are affected and logs the damage.
void BucketLoad::keep(const redis::Reply& reply) noexcept
{
    try {
        if (reply.size() > static_cast<std::size_t>(kBucketSize)) {
            source().damaged_bucket(key());  // fails no read of a pet
        }
        auto bucket = Bucket::parse(reply);
        if (bucket && bucket->size() >= rows_at(key(), version_)) {
            cache().buckets().put(key(), std::move(*bucket), version_.changes);
        }
    } catch (...) {
        // Out of memory: not kept.
    }
}

BucketLoad* BucketLoads::load_for(const LocatedRead& located,
                                  const Version& now)
{
    BucketLoad* last = nullptr;
    std::array<std::int64_t, 2> missing{};  // neither cached nor loading
    std::size_t count = 0;
    const BucketSpan span = span_of(located, now);
    for (std::int64_t number = span.first; number <= span.last; ++number) {
        if (cache_.buckets().has(number, now)) {
            continue;
        }
        BucketLoad* const load = current_load(loads_, number);
        if (load == nullptr) {
            missing.at(count++) = number;
        } else if (!load->serves(now)) {
            return nullptr;
        } else if (last == nullptr || load->serial() > last->serial()) {
            last = load;
        }
    }
    if (count != 0 && !missed_before(missing.data(), count)) {
        return nullptr;
    }
    for (std::size_t i = 0; i < count; ++i) {
        last = load(missing.at(i), now);
        if (last == nullptr) {
            return nullptr;
        }
    }
    return last;
}

// Whether one of the buckets was missed before. If so, all are worth loading,
// because a response needs all of them.
bool BucketLoads::missed_before(const std::int64_t* numbers,
                                std::size_t count) noexcept
{
    bool before = false;
    for (std::size_t i = 0; i < count; ++i) {
        before |= cache_.missed_before(numbers[i]);
    }
    return before;
}

void BucketLoads::load_for_later(const BucketSpan& span,
                                 const Version& now) noexcept
{
    if (span.last - span.first >= kMaxWalk) {
        return;
    }
    for (std::int64_t number = span.first; number <= span.last; ++number) {
        if (!cache_.buckets().has(number, now)
            && current_load(loads_, number) == nullptr
            && cache_.missed_before(number)) {
            load(number, now);
        }
    }
}

BucketLoad* BucketLoads::load(std::int64_t number, const Version& now) noexcept
{
    try {
        loads_.start_ahead(number, now, ++started_, cache_, continuation_)
            .begin();
    } catch (...) {
        return nullptr;  // out of memory
    }
    return current_load(loads_, number);
}

}  // namespace petstore::store
