#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace petstore::store {

// A worker's cache with a bound on its memory. Evicts by CLOCK, which
// approximates least recently used: find() marks an entry, and eviction spares
// a marked entry once. Unlike a list in order of use, a hit writes one byte.
// New entries are not marked, so a scan evicts its own entries, not those in
// use.
//
// One array with open addressing: most lookups, hits or misses, touch one cache
// line.
//
// Hash()(key) must be well mixed, because clients choose the keys.
// Bytes()(value) is the memory that a value owns outside sizeof(Value); it must
// not change while the value is cached. Moving keys and values must not throw.
template <typename Key, typename Value, typename Hash, typename Bytes>
class BoundedCache {
public:
    // `max_bytes` includes the array.
    explicit BoundedCache(std::size_t max_bytes) noexcept
        : max_bytes_(max_bytes)
    {}
    BoundedCache(const BoundedCache&) = delete;
    BoundedCache& operator=(const BoundedCache&) = delete;

    // nullptr if not cached. Valid until put() or clear().
    const Value* find(const Key& key) noexcept
    {
        if (slots_.empty()) {
            return nullptr;
        }
        Slot& slot = slots_[index_of(key)];
        if (!slot.occupied) {
            return nullptr;
        }
        slot.used = true;
        return &slot.value;
    }

    // Replaces the key's value. Drops the new value if out of memory, or if it
    // needs more than a quarter of the cache.
    void put(const Key& key, Value value) noexcept
    {
        const std::size_t size = Bytes()(value);
        if (size > max_bytes_ / 4 || !reserve_slot()) {
            return;
        }
        Slot& slot = slots_[index_of(key)];
        if (slot.occupied) {
            value_bytes_ -= Bytes()(slot.value);
        } else {
            slot.occupied = true;
            slot.key = key;
            ++size_;
        }
        slot.value = std::move(value);
        value_bytes_ += size;
        while (bytes() > max_bytes_ && size_ > 0) {
            evict_one();
        }
    }

    void erase(const Key& key) noexcept
    {
        if (slots_.empty()) {
            return;
        }
        const std::size_t index = index_of(key);
        if (slots_[index].occupied) {
            erase_slot(index);
        }
    }

    // Requires at least one entry.
    void evict_one() noexcept
    {
        for (int spared = 0;; hand_ = next(hand_)) {
            Slot& slot = slots_[hand_];
            if (!slot.occupied) {
                continue;
            }
            if (!slot.used || spared++ == kMaxSpared) {
                // The hand stays: erase_slot() may move another entry here.
                return erase_slot(hand_);
            }
            slot.used = false;
        }
    }

    void clear() noexcept
    {
        slots_ = std::vector<Slot>();
        size_ = 0;
        value_bytes_ = 0;
        hand_ = 0;
    }

    std::size_t size() const noexcept { return size_; }

    std::size_t bytes() const noexcept
    {
        return value_bytes_ + slots_.capacity() * sizeof(Slot);
    }

private:
    struct Slot {
        Key key{};
        Value value{};
        bool occupied = false;
        bool used = false;  // since the hand last passed
    };

    static constexpr std::size_t kMinSlots = 16;
    // The array may take 1/kMaxArrayShare of the memory.
    static constexpr std::size_t kMaxArrayShare = 4;
    // The most marked entries that one eviction spares. Bounds its time to
    // microseconds if all are marked.
    static constexpr int kMaxSpared = 1000;

    std::size_t next(std::size_t index) const noexcept
    {
        return (index + 1) & (slots_.size() - 1);
    }

    // Where the search for the key starts. The number of slots is a power of
    // two.
    std::size_t home_of(const Key& key) const noexcept
    {
        return Hash()(key) & (slots_.size() - 1);
    }

    // The key's slot, or the free one where it belongs.
    std::size_t index_of(const Key& key) const noexcept
    {
        std::size_t index = home_of(key);
        while (slots_[index].occupied && !(slots_[index].key == key)) {
            index = next(index);
        }
        return index;
    }

    // Keeps half of the slots free, so searches are short.
    bool reserve_slot() noexcept
    {
        if (2 * (size_ + 1) > slots_.size() && !grow()) {
            if (size_ == 0) {
                return false;
            }
            evict_one();
        }
        return true;
    }

    bool grow() noexcept
    {
        const std::size_t wanted =
            slots_.empty() ? kMinSlots : 2 * slots_.size();
        if (wanted > max_bytes_ / kMaxArrayShare / sizeof(Slot)) {
            return false;
        }
        try {
            std::vector<Slot> old(wanted);
            old.swap(slots_);
            for (Slot& slot : old) {
                if (slot.occupied) {
                    slots_[index_of(slot.key)] = std::move(slot);
                }
            }
        } catch (const std::bad_alloc&) {
            return false;
        }
        hand_ = 0;
        return true;
    }

    // Closes the gap, so a search may end at the first free slot.
    void erase_slot(std::size_t gap) noexcept
    {
        value_bytes_ -= Bytes()(slots_[gap].value);
        slots_[gap] = Slot();
        --size_;
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = next(gap); slots_[i].occupied; i = next(i)) {
            const std::size_t from_home = (i - home_of(slots_[i].key)) & mask;
            if (from_home >= ((i - gap) & mask)) {
                slots_[gap] = std::exchange(slots_[i], Slot());
                gap = i;
            }
        }
    }

    const std::size_t max_bytes_;
    std::size_t size_ = 0;
    std::size_t value_bytes_ = 0;
    std::vector<Slot> slots_;
    std::size_t hand_ = 0;  // the slot that eviction examines next
};

}  // namespace petstore::store
