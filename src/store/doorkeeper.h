#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace petstore::store {

// Tells what comes again soon from what comes once, so that only the former is
// let into a memory. Remembers as many visitors as there are places: a new one
// takes the place of the one before it there.
class Doorkeeper {
public:
    explicit Doorkeeper(std::size_t places)
        : visitors_(std::max<std::size_t>(places, 1), kNobody)
    {}

    // Whether this visitor came before and is still remembered, which then
    // ends; otherwise it is remembered. Visitors are numbers or hashes.
    bool came_before(std::uint64_t visitor) noexcept
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
