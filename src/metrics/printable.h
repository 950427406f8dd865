#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace petstore::metrics {

// Copies a text, truncated and filled with NUL. Bytes that are not printable
// ASCII become "?".
template <std::size_t Size>
void set_printable(char (&to)[Size], std::string_view text) noexcept
{
    const std::size_t length = std::min(text.size(), Size - 1);
    std::transform(text.begin(), text.begin() + length, to,
                   [](char c) { return c < ' ' || c > '~' ? '?' : c; });
    std::memset(to + length, 0, Size - length);
}

}  // namespace petstore::metrics
