#pragma once

#include <cstddef>
#include <string>

namespace petstore::store {

// What a block of `size` bytes takes from the heap: glibc adds 8 bytes and
// rounds up to 16, 32 at least.
constexpr std::size_t heap_bytes(std::size_t size) noexcept
{
    const std::size_t rounded = (size + 8 + 15) / 16 * 16;
    return rounded < 32 ? 32 : rounded;
}

// Outside the string itself.
inline std::size_t heap_bytes(const std::string& text) noexcept
{
    static const std::size_t inside = std::string().capacity();
    return text.capacity() > inside ? heap_bytes(text.capacity() + 1) : 0;
}

// How a worker divides what it may remember of one store. By default (128 MiB)
// that is room for more than 100,000 keys and for a million pets.
struct MemoryShares {
    explicit constexpr MemoryShares(std::size_t bytes) noexcept
        : keys(bytes / 16 * 9), responses(bytes / 16 * 7 / 5)
    {}

    std::size_t keys;
    std::size_t responses;  // Reader takes four times as much for pets
};

}  // namespace petstore::store
