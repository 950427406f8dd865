#pragma once

#include <cstring>
#include <string_view>

#include "ngx.h"

namespace petstore::ngx_base {

inline std::string_view view(const ngx_str_t& text) noexcept
{
    return {reinterpret_cast<const char*>(text.data), text.len};
}

// Passes a view to nginx. Shares the bytes; not NUL-terminated.
inline ngx_str_t borrow(std::string_view text) noexcept
{
    return {text.size(),
            reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

// Copies to `pool`, with a terminating NUL that the length excludes. `data` is
// null if out of memory.
inline ngx_str_t copy(ngx_pool_t* pool, std::string_view text) noexcept
{
    auto* data = static_cast<u_char*>(ngx_pnalloc(pool, text.size() + 1));
    if (data == nullptr) {
        return {0, nullptr};
    }
    std::memcpy(data, text.data(), text.size());
    data[text.size()] = '\0';
    return {text.size(), data};
}

}  // namespace petstore::ngx_base
