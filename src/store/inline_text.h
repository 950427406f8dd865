#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "memory.h"

namespace petstore::store {

// Immutable text. Up to Size - 1 bytes are stored in the object; std::string
// has room for 15, one less than an id that petstorectl and the admin API
// create.
template <std::size_t Size>
class InlineText {
public:
    InlineText() noexcept { set_length(0); }

    // Throws std::bad_alloc.
    explicit InlineText(std::string_view text)
        : InlineText(std::initializer_list<std::string_view>{text})
    {}

    // The parts in a row, without separators.
    InlineText(std::initializer_list<std::string_view> parts)
    {
        std::size_t size = 0;
        for (const std::string_view part : parts) {
            size += part.size();
        }
        char* to = bytes_;
        if (size <= kMaxInline) {
            set_length(size);
        } else {
            to = new char[size];
            const Block block{to, size};
            std::memcpy(bytes_, &block, sizeof(block));
            set_length(kOnHeap);
        }
        for (const std::string_view part : parts) {
            to += part.copy(to, part.size());
        }
    }
    InlineText(InlineText&& other) noexcept { take(other); }
    InlineText& operator=(InlineText&& other) noexcept
    {
        if (this != &other) {
            release();
            take(other);
        }
        return *this;
    }
    ~InlineText() { release(); }

    std::string_view view() const noexcept
    {
        if (length() != kOnHeap) {
            return {bytes_, length()};
        }
        const Block block = this->block();
        return {block.data, block.size};
    }

    // Heap memory of the text, without this object.
    std::size_t owned_bytes() const noexcept
    {
        return length() == kOnHeap ? heap_bytes(block().size) : 0;
    }

private:
    struct Block {
        char* data;
        std::size_t size;
    };

    static constexpr std::size_t kMaxInline = Size - 1;
    static constexpr std::size_t kOnHeap = 255;  // instead of a length
    static_assert(sizeof(Block) <= kMaxInline && kMaxInline < kOnHeap);

    std::size_t length() const noexcept
    {
        return static_cast<unsigned char>(bytes_[kMaxInline]);
    }
    void set_length(std::size_t length) noexcept
    {
        bytes_[kMaxInline] = static_cast<char>(length);
    }
    Block block() const noexcept
    {
        Block block;
        std::memcpy(&block, bytes_, sizeof(block));
        return block;
    }
    void take(InlineText& other) noexcept
    {
        std::memcpy(bytes_, other.bytes_, Size);
        other.set_length(0);
    }
    void release() noexcept
    {
        if (length() == kOnHeap) {
            delete[] block().data;
        }
    }

    char bytes_[Size];  // the last one: the length, or kOnHeap
};

}  // namespace petstore::store
