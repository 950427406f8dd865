#pragma once

#include <cstdint>

namespace petstore::store {

// Some of a bucket's rows, numbered from 0 to 127.
class RowSet {
public:
    static constexpr int kRows = 128;

    RowSet() = default;

    // Rows `first` … `end` - 1; none if there are none.
    static RowSet stretch(int first, int end) noexcept
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

    // The lowest `count` rows of at least as many.
    RowSet first(int count) const noexcept
    {
        RowSet rest = *this;
        RowSet set;
        while (count-- > 0) {
            set.add(rest.take_first());
        }
        return set;
    }

    // Takes the lowest row out of a set that is not empty.
    int take_first() noexcept
    {
        const int word = words_[0] != 0 ? 0 : 1;
        const int row = word * kBits + __builtin_ctzll(words_[word]);
        words_[word] &= words_[word] - 1;
        return row;
    }

private:
    static constexpr int kBits = 64;
    static constexpr int kWords = kRows / kBits;

    // The lowest `count` bits.
    static std::uint64_t below(int count) noexcept
    {
        return count <= 0       ? 0
               : count >= kBits ? ~std::uint64_t{0}
                                : (std::uint64_t{1} << count) - 1;
    }

    std::uint64_t words_[kWords] = {};
};

}  // namespace petstore::store
