#include "page_builder.h"

#include <algorithm>

namespace petstore::store {

LocatedRead locate(const ReadKey& key, const PetIds& ids,
                   const Version& now) noexcept
{
    return {key, key.is_pet() ? ids.position_of(key.id, now.count)
                              : ids.last_until(key.id)};
}

BucketSpan span_of(const LocatedRead& located, const Version& now) noexcept
{
    const auto& [key, position] = located;
    if (key.is_pet() ? position == 0
                     : key.is_filtered() || position >= now.count) {
        return {};
    }
    if (key.is_pet()) {
        const std::int64_t number = bucket_of(position);
        return {number, number};
    }
    const Position rest = now.count - position;
    return {bucket_of(position + 1),
            bucket_of(position + std::min<Position>(rest, key.limit + 1))};
}

PageBuilder::PageBuilder(const LocatedRead& located, const Version& now,
                         BucketCache& buckets) noexcept
    : version_(now), page_(!located.key.is_pet()),
      complete_(page_ ? take_page(located, buckets)
                      : take_pet(located.position, buckets))
{}

bool PageBuilder::take_pet(Position position, BucketCache& buckets) noexcept
{
    if (position == 0) {
        return false;
    }
    const std::int64_t number = bucket_of(position);
    const int row = static_cast<int>(row_of(position));
    const Bucket* bucket = buckets.find(number, version_);
    if (bucket == nullptr || row >= bucket->size()) {
        return false;
    }
    add(number, *bucket, RowSet::range(row, row + 1));
    return true;
}

bool PageBuilder::take_page(const LocatedRead& located,
                            BucketCache& buckets) noexcept
{
    const auto& [key, position] = located;
    if (position >= version_.count) {
        return true;
    }
    const auto status = key.query().status;
    const std::int64_t first = bucket_of(position + 1);
    const std::int64_t last = bucket_of(version_.count);
    int begin = static_cast<int>(row_of(position + 1));
    int left = key.limit;
    for (std::int64_t number = first; number <= last; ++number, begin = 0) {
        const Bucket* bucket = number < first + kMaxWalk
                                   ? buckets.find(number, version_)
                                   : nullptr;
        if (bucket == nullptr) {
            return false;
        }
        const int expected = rows_at(number, version_);
        const RowSet rows =
            bucket->rows(status) & RowSet::range(begin, expected);
        const int size = rows.size();
        more_ = size > left;
        add(number, *bucket, more_ ? rows.first(left) : rows);
        if (more_) {
            return true;
        }
        if (bucket->size() < expected) {
            return false;
        }
        left -= size;
    }
    return true;
}

// Prefetches the rows: a large catalogue does not fit in CPU caches, and most
// reads run this once while waiting for the limiter and again to respond.
void PageBuilder::add(std::int64_t number, const Bucket& bucket,
                      RowSet rows) noexcept
{
    pieces_[count_++] = {number, &bucket, rows};
    while (!rows.empty()) {
        const int row = rows.take_first();
        bucket.prefetch(row);
        max_json_ += bucket.max_json(row) + 1;
    }
}

std::shared_ptr<CachedResponse> PageBuilder::response(const PetIds& ids) const
{
    auto response = std::make_shared<CachedResponse>();
    std::string& body = response->body;
    body.resize(max_json_);

    api::PetId last = 0;
    PetIds::Walk walk(ids);
    char* end = body.data();
    if (page_) {
        *end++ = '[';
    }
    for (std::size_t i = 0; i < count_; ++i) {
        const Piece& piece = pieces_[i];
        for (RowSet rows = piece.rows; !rows.empty();) {
            const int row = rows.take_first();
            if (last != 0) {
                *end++ = ',';
            }
            last = walk.id_at(position_at(piece.number, row));
            end = piece.bucket->write_pet(end, row, last);
        }
    }
    if (page_) {
        *end++ = ']';
    }
    body.resize(static_cast<std::size_t>(end - body.data()));
    response->next_after = more_ ? last : 0;
    response->is_last_page = page_ && !more_;
    response->version = version_;
    if (count_ != 0) {
        response->buckets = {pieces_[0].number, pieces_[count_ - 1].number};
    }
    return response;
}

}  // namespace petstore::store
