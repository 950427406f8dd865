#pragma once

#include <new>
#include <utility>

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

template <typename T>
void destroy_in_pool(void* object) noexcept
{
    static_cast<T*>(object)->~T();
}

// Creates a C++ object in an nginx pool, which destroys it. One
// ngx_pool_cleanup_add() call provides the memory and the cleanup handler,
// which is set only after the constructor has succeeded. nullptr if out of
// memory.
template <typename T, typename... Args>
T* pool_new(ngx_pool_t* pool, Args&&... args) noexcept
{
    static_assert(alignof(T) <= NGX_ALIGNMENT);
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(pool, sizeof(T));
    if (cleanup == nullptr) {
        return nullptr;
    }
    try {
        new (cleanup->data) T(std::forward<Args>(args)...);
    } catch (...) {
        return nullptr;
    }
    cleanup->handler = destroy_in_pool<T>;
    return static_cast<T*>(cleanup->data);
}

// The T that pool_new() created in `pool`; nullptr if none. Also works after an
// internal redirect, which clears the module contexts of a request but not its
// pool.
template <typename T>
T* find_in_pool(ngx_pool_t* pool) noexcept
{
    for (auto* cleanup = pool->cleanup; cleanup; cleanup = cleanup->next) {
        if (cleanup->handler == destroy_in_pool<T>) {
            return static_cast<T*>(cleanup->data);
        }
    }
    return nullptr;
}

}  // namespace petstore::ngx
