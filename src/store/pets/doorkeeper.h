#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace petstore::store {

// Admits to a cache only what is requested a second time. Direct-mapped table;
// a collision overwrites.
class Doorkeeper {
public:
    explicit Doorkeeper(std::size_t places)
        : visitors_(std::max<std::size_t>(places, 1), kNobody)
    {}

    // Whether the visitor, a number or a hash, is remembered from an earlier
    // call. Forgets it if so, remembers it if not.
    bool seen_before(std::uint64_t visitor) noexcept
    {
        auto& place = visitors_[visitor % visitors_.size()];
        const bool before = place == visitor;
        place = before ? kNobody : visitor;
        return before;
    }

private:
    static constexpr std::uint64_t kNobody = ~std::uint64_t{0};

    std::vector<std::uint64_t> visitors_;
};

}  // namespace petstore::store
