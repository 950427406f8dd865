#pragma once

#include <cstddef>
#include <string>

namespace petstore::store {

// Heap memory of a block of `size` bytes: glibc adds 8 bytes and rounds up to a
// multiple of 16, at least 32.
constexpr std::size_t heap_bytes(std::size_t size) noexcept
{
    const std::size_t rounded = (size + 8 + 15) / 16 * 16;
    return rounded < 32 ? 32 : rounded;
}

// Heap memory of a string, without the string object.
inline std::size_t heap_bytes(const std::string& text) noexcept
{
    static const std::size_t inside = std::string().capacity();
    return text.capacity() > inside ? heap_bytes(text.capacity() + 1) : 0;
}

// Heap memory of a node of libstdc++'s hash tables: the entry and a pointer to
// the next node.
template <typename Entry>
constexpr std::size_t kNodeBytes = heap_bytes(sizeof(void*) + sizeof(Entry));

// Heap memory of an object of std::make_shared, with its two counters and a
// vtable.
template <typename T>
constexpr std::size_t kSharedBytes = heap_bytes(16 + sizeof(T));

// How a worker divides the memory of its caches: 9 parts of 16 for keys; of the
// other 7, a fifth for responses and the rest for buckets. The default of 128
// MiB holds about 200,000 keys and a million pets.
struct MemoryShares {
    explicit constexpr MemoryShares(std::size_t bytes) noexcept
        : keys(bytes / 16 * 9), responses(bytes / 16 * 7 / 5)
    {}

    std::size_t keys;
    std::size_t responses;  // ReadCache uses four times as much for buckets
};

}  // namespace petstore::store
