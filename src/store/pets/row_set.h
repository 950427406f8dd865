#pragma once

#include <cstdint>

#include "record.h"

namespace petstore::store {

// A set of rows of one bucket, as a bitmap. Row 0 is the bucket's first pet.
class RowSet {
public:
    RowSet() = default;

    // Rows `first` … `end` - 1; empty if `end` <= `first`.
    static RowSet range(int first, int end) noexcept
    {
        RowSet set;
        for (int word = 0; word < kWords; ++word) {
            set.words_[word] =
                below(end - word * kBits) & ~below(first - word * kBits);
        }
        return set;
    }

    void add(int row) noexcept
    {
        words_[row / kBits] |= std::uint64_t{1} << row % kBits;
    }

    RowSet operator&(const RowSet& other) const noexcept
    {
        RowSet set;
        for (int word = 0; word < kWords; ++word) {
            set.words_[word] = words_[word] & other.words_[word];
        }
        return set;
    }

    bool empty() const noexcept { return (words_[0] | words_[1]) == 0; }

    int size() const noexcept
    {
        int size = 0;
        for (const std::uint64_t word : words_) {
            size += __builtin_popcountll(word);
        }
        return size;
    }

    // The lowest `count` rows. The set must have that many.
    RowSet first(int count) const noexcept
    {
        RowSet rest = *this;
        RowSet set;
        while (count-- > 0) {
            set.add(rest.take_first());
        }
        return set;
    }

    // Removes and returns the lowest row. The set must not be empty.
    int take_first() noexcept
    {
        const int word = words_[0] != 0 ? 0 : 1;
        const int row = word * kBits + __builtin_ctzll(words_[word]);
        words_[word] &= words_[word] - 1;
        return row;
    }

private:
    static constexpr int kBits = 64;
    static constexpr int kWords = kBucketSize / kBits;
    static_assert(kWords == 2, "empty() and take_first() know two words");

    // A word with its lowest `count` bits set.
    static std::uint64_t below(int count) noexcept
    {
        return count <= 0       ? 0
               : count >= kBits ? ~std::uint64_t{0}
                                : (std::uint64_t{1} << count) - 1;
    }

    std::uint64_t words_[kWords] = {};
};

}  // namespace petstore::store
