#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace petstore::store {

// A hash table with open addressing, linear probing and a fixed number of
// slots: most lookups, hits or misses, touch one cache line. For a large table,
// calloc() leaves zeroing to the kernel, page by page on first use, so creating
// it does not stall the worker.
//
// Hash()(key) must be well mixed. None of Key, Value and Hash may throw.
template <typename Key, typename Value, typename Hash>
class OpenTable {
public:
    // Key and value exist while the slot is occupied. All zero bytes are a free
    // slot.
    struct Slot {
        union {
            Key key;
        };
        bool occupied;
        bool used;  // for the owner; false in a new entry
        union {
            Value value;
        };
    };

    static_assert(alignof(Slot) <= alignof(std::max_align_t));  // calloc()

    OpenTable() = default;
    // `capacity` is a power of two. Without slots if out of memory.
    explicit OpenTable(std::size_t capacity) noexcept
        : slots_(static_cast<Slot*>(std::calloc(capacity, sizeof(Slot)))),
          capacity_(slots_ == nullptr ? 0 : capacity)
    {}
    ~OpenTable()
    {
        for (std::size_t i = 0; size_ > 0; ++i) {
            if (slots_.get()[i].occupied) {
                vacate(slots_.get()[i]);
            }
        }
    }
    OpenTable(OpenTable&& other) noexcept { swap(other); }
    OpenTable& operator=(OpenTable&& other) noexcept
    {
        OpenTable moved(std::move(other));
        swap(moved);
        return *this;
    }

    std::size_t size() const noexcept { return size_; }
    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t bytes() const noexcept { return capacity_ * sizeof(Slot); }

    Slot& operator[](std::size_t index) noexcept { return slots_.get()[index]; }
    std::size_t next(std::size_t index) const noexcept
    {
        return (index + 1) & (capacity_ - 1);
    }

    // nullptr if there is none. Valid until erase().
    Slot* find(const Key& key) noexcept
    {
        if (size_ == 0) {
            return nullptr;
        }
        Slot& slot = slot_of(key);
        return slot.occupied ? &slot : nullptr;
    }

    // The key must not be in the table, and another slot must stay free,
    // because searches end at a free slot.
    Slot& insert(const Key& key, Value value) noexcept
    {
        Slot& slot = slot_of(key);
        occupy(slot, key, std::move(value));
        return slot;
    }

    // Moves later entries into the gap, so the slot may be occupied again
    // afterwards.
    void erase(Slot& slot) noexcept
    {
        auto gap = static_cast<std::size_t>(&slot - slots_.get());
        vacate(slot);
        for (std::size_t i = next(gap); (*this)[i].occupied; i = next(i)) {
            Slot& moved = (*this)[i];
            const std::size_t from_home = (i - home_of(moved.key)) & mask();
            if (from_home >= ((i - gap) & mask())) {
                Slot& filled = (*this)[gap];
                occupy(filled, moved.key, std::move(moved.value));
                filled.used = moved.used;
                vacate(moved);
                gap = i;
            }
        }
    }

private:
    struct Free {
        void operator()(Slot* slots) const noexcept { std::free(slots); }
    };

    std::size_t mask() const noexcept { return capacity_ - 1; }

    // Where the search for the key starts.
    std::size_t home_of(const Key& key) const noexcept
    {
        return Hash()(key) & mask();
    }

    // The key's slot, or the free one where it belongs.
    Slot& slot_of(const Key& key) noexcept
    {
        std::size_t index = home_of(key);
        while ((*this)[index].occupied && !((*this)[index].key == key)) {
            index = next(index);
        }
        return (*this)[index];
    }

    void occupy(Slot& slot, const Key& key, Value value) noexcept
    {
        new (&slot.key) Key(key);
        new (&slot.value) Value(std::move(value));
        slot.occupied = true;
        slot.used = false;
        ++size_;
    }

    void vacate(Slot& slot) noexcept
    {
        slot.key.~Key();
        slot.value.~Value();
        slot.occupied = false;
        --size_;
    }

    void swap(OpenTable& other) noexcept
    {
        std::swap(slots_, other.slots_);
        std::swap(capacity_, other.capacity_);
        std::swap(size_, other.size_);
    }

    std::unique_ptr<Slot, Free> slots_;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
};

}  // namespace petstore::store
