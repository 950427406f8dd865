#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "printable.h"

namespace petstore::metrics {

// Names in shared memory, whose places index counters. A place is never reused,
// because its counters never reset. Only add() needs a lock.
template <std::size_t Size, std::size_t Length>
class Names {
public:
    static constexpr std::size_t kNone = Size;  // the table was full

    std::size_t size() const noexcept
    {
        return size_.load(std::memory_order_acquire);
    }
    std::string_view operator[](std::size_t place) const noexcept
    {
        return names_[place];
    }

    // The place of the name, or kNone. The name is truncated to Length - 1
    // bytes, and bytes that are not printable ASCII are replaced, so all
    // formats show the same name.
    std::size_t add(std::string_view original) noexcept
    {
        char text[Length];
        set_printable(text, original);
        const std::string_view name(text);
        const std::size_t size = size_.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < size; ++i) {
            if (name == names_[i]) {
                return i;
            }
        }
        if (size == Size) {
            return kNone;
        }
        std::memcpy(names_[size], text, Length);
        // Release: readers of the size read the name without a lock.
        size_.store(static_cast<std::uint32_t>(size + 1),
                    std::memory_order_release);
        return size;
    }

private:
    std::atomic<std::uint32_t> size_{0};
    char names_[Size][Length] = {};
};

}  // namespace petstore::metrics
