#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace petstore::store {

// Admits to a cache only what is requested a second time. Direct-mapped table;
// a collision overwrites. Takes memory as visitors come.
class Doorkeeper {
public:
    explicit Doorkeeper(std::size_t slots) noexcept
        : max_slots_(std::max<std::size_t>(slots, 1))
    {}

    // Whether the visitor, a number or a hash, is remembered from an earlier
    // call. Forgets it if so, remembers it if not.
    bool seen_before(std::uint64_t visitor) noexcept
    {
        if (visitors_.size() < max_slots_
            && kSlotsPerVisit * visits_ >= visitors_.size()) {
            grow();
        }
        if (visitors_.empty()) {
            return false;
        }
        ++visits_;
        auto& slot = slot_of(visitor);
        const bool before = slot == visitor;
        slot = before ? kNobody : visitor;
        return before;
    }

private:
    static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
    static constexpr std::size_t kFirstSlots = 64;
    // Keeps collisions rare while the table grows.
    static constexpr std::size_t kSlotsPerVisit = 8;

    std::uint64_t& slot_of(std::uint64_t visitor) noexcept
    {
        return visitors_[visitor % visitors_.size()];
    }

    // Without effect if out of memory.
    void grow() noexcept
    {
        const std::size_t size =
            std::min(max_slots_, std::max(2 * visitors_.size(), kFirstSlots));
        try {
            std::vector<std::uint64_t> before(size, kNobody);
            before.swap(visitors_);
            for (const std::uint64_t visitor : before) {
                if (visitor != kNobody) {
                    slot_of(visitor) = visitor;
                }
            }
        } catch (const std::bad_alloc&) {
            // Collisions overwrite more.
        }
    }

    const std::size_t max_slots_;
    std::size_t visits_ = 0;
    std::vector<std::uint64_t> visitors_;
};

}  // namespace petstore::store
