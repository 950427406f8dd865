#pragma once

#include <cstddef>
#include <utility>

#include "open_table.h"

namespace petstore::store {

// A worker's cache with a bound on its memory. Evicts by CLOCK, which
// approximates least recently used: find() marks an entry, and eviction spares
// a marked entry once. Unlike a list in order of use, a hit writes one byte.
// New entries are not marked, so a scan evicts its own entries, not those in
// use.
//
// A table that is half full is replaced by one of twice its size, and its
// entries move with the next calls of put(), a few with each: moving all of a
// large cache at once would stop a worker for milliseconds.
//
// Hash()(key) must be well mixed, because clients choose the keys.
// Bytes()(value) is the memory that a value owns outside sizeof(Value); it must
// not change while the value is cached. None of Key, Value, Hash and Bytes may
// throw.
template <typename Key, typename Value, typename Hash, typename Bytes>
class BoundedCache {
public:
    // `max_bytes` includes the tables.
    explicit BoundedCache(std::size_t max_bytes) noexcept
        : max_bytes_(max_bytes)
    {}
    BoundedCache(const BoundedCache&) = delete;
    BoundedCache& operator=(const BoundedCache&) = delete;

    // nullptr if not cached. Valid until any other call but find().
    const Value* find(const Key& key) noexcept
    {
        Slot* const slot = find_slot(key).slot;
        if (slot == nullptr) {
            return nullptr;
        }
        slot->used = true;
        return &slot->value;
    }

    // Replaces the key's value. Drops the new value if out of memory, or if it
    // needs more than a quarter of the cache. `elsewhere` is other memory of
    // the owner that also counts towards `max_bytes`; the owner evicts entries
    // to make room for it.
    void put(const Key& key, Value value, std::size_t elsewhere = 0) noexcept
    {
        const std::size_t size = Bytes()(value);
        if (size > max_bytes_ / 4 || !reserve_slot(elsewhere)) {
            return;
        }
        for (int i = 0; i < kStepsPerPut && growing(); ++i) {
            advance();
        }
        const Found found = find_slot(key);
        if (found.slot != nullptr) {
            value_bytes_ -= Bytes()(found.slot->value);
            found.slot->value = std::move(value);
        } else {
            table_.insert(key, std::move(value));
        }
        value_bytes_ += size;
        while (bytes() > max_bytes_ && this->size() > 0) {
            evict_one();
        }
    }

    void erase(const Key& key) noexcept
    {
        const Found found = find_slot(key);
        if (found.slot != nullptr) {
            drop(found);
        }
    }

    // Requires at least one entry.
    void evict_one() noexcept
    {
        for (int spared = 0;;) {
            Table& table = growing() ? old_ : table_;
            Slot& slot = table[hand_];
            if (slot.occupied) {
                if (!slot.used || spared++ == kMaxSpared) {
                    // The hand stays: another entry may move here.
                    return drop({&table, &slot});
                }
                slot.used = false;
            }
            if (growing()) {
                advance();
            } else {
                hand_ = table_.next(hand_);
            }
        }
    }

    void clear() noexcept
    {
        table_ = Table();
        old_ = Table();
        value_bytes_ = 0;
        hand_ = 0;
    }

    std::size_t size() const noexcept { return table_.size() + old_.size(); }

    std::size_t bytes() const noexcept
    {
        return value_bytes_ + table_.bytes() + old_.bytes();
    }

private:
    using Table = OpenTable<Key, Value, Hash>;
    using Slot = typename Table::Slot;

    struct Found {
        Table* table;
        Slot* slot;  // nullptr: the key is not cached
    };

    static constexpr std::size_t kMinSlots = 16;
    // A new table may take 1/kMaxTableShare of the memory.
    static constexpr std::size_t kMaxTableShare = 4;
    // The most marked entries that one eviction spares. Bounds its time to a
    // tenth of a millisecond if all are marked.
    static constexpr int kMaxSpared = 1000;
    // Steps through the old table per put(), which take a few microseconds.
    // Fewer would suffice to finish before the table grows again. But until the
    // old table is empty, many lookups search both, and put() may rarely be
    // called.
    static constexpr int kStepsPerPut = 64;

    bool growing() const noexcept { return old_.capacity() > 0; }

    Found find_slot(const Key& key) noexcept
    {
        Slot* const slot = table_.find(key);
        if (slot != nullptr || !growing()) {
            return {&table_, slot};
        }
        return {&old_, old_.find(key)};
    }

    void drop(Found found) noexcept
    {
        value_bytes_ -= Bytes()(found.slot->value);
        found.table->erase(*found.slot);
        end_growth();
    }

    // Keeps half of the slots free, so searches are short.
    bool reserve_slot(std::size_t elsewhere) noexcept
    {
        if (2 * (size() + 1) > table_.capacity() && !grow(elsewhere)) {
            if (size() == 0) {
                return false;
            }
            evict_one();
        }
        return true;
    }

    // Does not evict entries to make room: a table that does not fit beside the
    // old one would evict thousands at once.
    bool grow(std::size_t elsewhere) noexcept
    {
        const std::size_t wanted =
            table_.capacity() == 0 ? kMinSlots : 2 * table_.capacity();
        if (wanted > max_bytes_ / kMaxTableShare / sizeof(Slot)
            || bytes() + elsewhere + wanted * sizeof(Slot) > max_bytes_) {
            return false;
        }
        Table larger(wanted);
        if (larger.capacity() == 0) {
            return false;
        }
        while (growing()) {
            advance();
        }
        old_ = std::move(table_);
        table_ = std::move(larger);
        hand_ = 0;
        return true;
    }

    // Moves the hand one step through the old table: moves an entry to the new
    // table, or skips a free slot. No entry is left behind the hand, so one
    // pass suffices.
    void advance() noexcept
    {
        Slot& slot = old_[hand_];
        if (!slot.occupied) {
            hand_ = old_.next(hand_);
            return;
        }
        table_.insert(slot.key, std::move(slot.value)).used = slot.used;
        old_.erase(slot);
        end_growth();
    }

    void end_growth() noexcept
    {
        if (growing() && old_.size() == 0) {
            old_ = Table();
            hand_ = 0;
        }
    }

    const std::size_t max_bytes_;
    std::size_t value_bytes_ = 0;
    Table table_;
    Table old_;  // the previous table, until it is empty
    // The slot that eviction examines next, in the old table while there is
    // one.
    std::size_t hand_ = 0;
};

}  // namespace petstore::store
