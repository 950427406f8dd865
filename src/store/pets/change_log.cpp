#include "change_log.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>

#include "../../api/text.h"

namespace petstore::store {

namespace {

// Allows for changes made before the log is read.
constexpr std::int64_t kSpare = 64;

// 512 KB.
constexpr std::size_t kMaxPlaces = 65536;

// A longer span counts as changed after any change. This bounds the time of
// unchanged(), and a change is likely to be inside such a span.
constexpr std::int64_t kMaxSpan = 256;

struct Entry {
    std::int64_t changes;
    std::int64_t bucket;
};

std::optional<Entry> parse(std::string_view text) noexcept
{
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto changes = api::parse_int64(text.substr(0, colon));
    const auto bucket = api::parse_int64(text.substr(colon + 1));
    return changes && bucket && *changes > 0 && *bucket >= 0
               ? std::optional(Entry{*changes, *bucket})
               : std::nullopt;
}

// Whether the entries include all changes from `first` to `last`. Each entry
// must be of a later change than the previous entry.
bool include_all(const redis::Reply& entries, std::int64_t first,
                 std::int64_t last) noexcept
{
    if (!entries.is(redis::Type::array)) {
        return false;
    }
    std::int64_t before = 0;
    std::int64_t next = first;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto entry = parse(entries[i].text());
        if (!entry || entry->changes <= before) {
            return false;
        }
        before = entry->changes;
        next += before == next;
    }
    return next > last;
}

std::size_t power_of_two(std::size_t least) noexcept
{
    std::size_t size = 1;
    while (size < least) {
        size *= 2;
    }
    return size;
}

}  // namespace

ChangeLog::ChangeLog(std::size_t places) noexcept
    : places_(power_of_two(std::min(places, kMaxPlaces)))
{}

std::int64_t ChangeLog::entries_until(std::int64_t now) const noexcept
{
    return std::min(now - known_ + kSpare, kLength);
}

void ChangeLog::add(const redis::Reply& entries, std::int64_t now) noexcept
{
    if (now <= known_) {
        return;
    }
    if (!include_all(entries, known_ + 1, now)) {
        return add_unknown(now);
    }
    // Includes changes after `now`, up to the first one without an entry.
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto entry = parse(entries[i].text());
        if (entry && entry->changes == known_ + 1) {
            try {
                set_changed(entry->bucket, entry->changes);
            } catch (const std::bad_alloc&) {
                return add_unknown(std::max(now, entry->changes));
            }
            known_ = entry->changes;
        }
    }
}

void ChangeLog::set_changed(std::int64_t bucket, std::int64_t change)
{
    const std::size_t place = place_of(bucket);
    if (place >= changed_.size()) {
        changed_.resize(place + 1);
    }
    changed_[place] = change;
}

void ChangeLog::add_unknown(std::int64_t now) noexcept
{
    known_ = all_changed_ = now;
}

void ChangeLog::clear() noexcept
{
    known_ = all_changed_ = 0;
    changed_.clear();
}

std::int64_t ChangeLog::last_change(const BucketSpan& buckets) const noexcept
{
    const auto places = static_cast<std::int64_t>(places_);
    if (buckets.last - buckets.first >= std::min(places, kMaxSpan)) {
        return known_;  // each number is that of some change
    }
    std::int64_t last = 0;
    for (std::int64_t i = buckets.first; i <= buckets.last; ++i) {
        const std::size_t place = place_of(i);
        if (place < changed_.size()) {
            last = std::max(last, changed_[place]);
        }
    }
    return last;
}

}  // namespace petstore::store
