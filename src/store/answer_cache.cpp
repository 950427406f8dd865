#include "answer_cache.h"

#include <new>
#include <utility>

namespace petstore::store {

namespace {

// An entry's nodes in the map and the list, and its control block.
constexpr std::size_t kOverhead = 256;

// What is not there is found out at the array, most often, before an entry is
// looked at that no processor's cache has.
constexpr float kLoadFactor = 0.25F;

// A page of 20.
constexpr std::size_t kUsualSize = 2048;

}  // namespace

ReadKey ReadKey::of_page(const api::ListQuery& query) noexcept
{
    Kind kind = Kind::page;
    if (query.status) {
        switch (*query.status) {
        case api::Status::available:
            kind = Kind::available;
            break;
        case api::Status::pending:
            kind = Kind::pending;
            break;
        case api::Status::sold:
            kind = Kind::sold;
            break;
        }
    }
    return {kind, query.limit, query.after};
}

api::ListQuery ReadKey::query() const noexcept
{
    api::ListQuery query;
    query.limit = limit;
    query.after = id;
    switch (kind) {
    case Kind::available:
        query.status = api::Status::available;
        break;
    case Kind::pending:
        query.status = api::Status::pending;
        break;
    case Kind::sold:
        query.status = api::Status::sold;
        break;
    case Kind::pet:
    case Kind::page:
        break;
    }
    return query;
}

// SplitMix64's finalizer: clients choose ids, so neighbours must not collide.
std::size_t ReadKey::Hash::operator()(const ReadKey& key) const noexcept
{
    auto x = static_cast<std::uint64_t>(key.id)
             ^ static_cast<std::uint64_t>(key.limit) << 48
             ^ static_cast<std::uint64_t>(key.kind) << 56;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

AnswerCache::AnswerCache(std::size_t max_bytes) : max_bytes_(max_bytes)
{
    entries_.max_load_factor(kLoadFactor);
}

std::size_t AnswerCache::usual_number(std::size_t bytes) noexcept
{
    return bytes / kUsualSize;
}

std::size_t AnswerCache::size_of(const Answer& answer) noexcept
{
    return sizeof(Answer) + answer.body.capacity() + kOverhead;
}

std::shared_ptr<const Answer> AnswerCache::find(const ReadKey& key)
{
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
        return nullptr;
    }
    order_.splice(order_.begin(), order_, found->second.used);
    return found->second.answer;
}

void AnswerCache::put(const ReadKey& key,
                      std::shared_ptr<const Answer> answer) noexcept
{
    const std::size_t size = size_of(*answer);
    if (size > max_bytes_ / 4) {
        return;
    }
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
        bytes_ -= size_of(*found->second.answer);
        found->second.answer = std::move(answer);
        order_.splice(order_.begin(), order_, found->second.used);
    } else {
        Order added;
        try {
            added.push_front(key);
            entries_.emplace(key, Entry{std::move(answer), added.begin()});
        } catch (const std::bad_alloc&) {
            return;
        }
        order_.splice(order_.begin(), added);
    }
    bytes_ += size;
    while (bytes_ > max_bytes_) {
        drop_last();
    }
}

void AnswerCache::drop_last() noexcept
{
    const auto last = entries_.find(order_.back());
    bytes_ -= size_of(*last->second.answer);
    entries_.erase(last);
    order_.pop_back();
}

void AnswerCache::clear() noexcept
{
    entries_.clear();
    order_.clear();
    bytes_ = 0;
}

}  // namespace petstore::store
