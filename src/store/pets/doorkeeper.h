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
    explicit Doorkeeper(std::size_t places) noexcept
        : max_places_(std::max<std::size_t>(places, 1))
    {}

    // Whether the visitor, a number or a hash, is remembered from an earlier
    // call. Forgets it if so, remembers it if not.
    bool seen_before(std::uint64_t visitor) noexcept
    {
        if (visitors_.size() < max_places_
            && kPlacesPerVisit * visits_ >= visitors_.size()) {
            grow();
        }
        if (visitors_.empty()) {
            return false;
        }
        ++visits_;
        auto& place = place_of(visitor);
        const bool before = place == visitor;
        place = before ? kNobody : visitor;
        return before;
    }

private:
    static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
    static constexpr std::size_t kFirstPlaces = 64;
    // Keeps collisions rare while the table grows.
    static constexpr std::size_t kPlacesPerVisit = 8;

    std::uint64_t& place_of(std::uint64_t visitor) noexcept
    {
        return visitors_[visitor % visitors_.size()];
    }

    // Without effect if out of memory.
    void grow() noexcept
    {
        const std::size_t size =
            std::min(max_places_, std::max(2 * visitors_.size(), kFirstPlaces));
        try {
            std::vector<std::uint64_t> before(size, kNobody);
            before.swap(visitors_);
            for (const std::uint64_t visitor : before) {
                if (visitor != kNobody) {
                    place_of(visitor) = visitor;
                }
            }
        } catch (const std::bad_alloc&) {
            // Collisions overwrite more.
        }
    }

    const std::size_t max_places_;
    std::size_t visits_ = 0;
    std::vector<std::uint64_t> visitors_;
};

}  // namespace petstore::store
