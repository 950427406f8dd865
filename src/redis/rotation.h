#pragma once

#include <cstddef>

namespace petstore::redis {

// Selects the server to ask next. In a round, each is asked at most once. A
// round starts after the server that was asked last, so one that is wrong or
// hangs is not asked twice in a row.
class Rotation {
public:
    // `count` must be at least 1. Starts with the server at index `first`.
    explicit Rotation(std::size_t count, std::size_t first = 0) noexcept
        : count_(count), current_((first + count - 1) % count)
    {}

    // Index of the server that was asked last.
    std::size_t current() const noexcept { return current_; }

    void begin_round() noexcept { left_ = count_; }

    // Servers that this round has yet to ask.
    std::size_t left() const noexcept { return left_; }

    // Moves on. False if all were asked in this round.
    bool next() noexcept
    {
        if (left_ == 0) {
            return false;
        }
        --left_;
        current_ = (current_ + 1) % count_;
        return true;
    }

private:
    std::size_t count_;
    std::size_t current_;
    std::size_t left_ = 0;
};

}  // namespace petstore::redis
