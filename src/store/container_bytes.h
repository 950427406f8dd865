#pragma once

#include <cstddef>

#include "memory.h"

// Heap memory per element of libstdc++'s containers with glibc, for caches
// bounded in bytes.
namespace petstore::store {

// A hash table node: the entry and a pointer to the next node.
template <typename Entry>
constexpr std::size_t kNodeBytes = heap_bytes(sizeof(void*) + sizeof(Entry));

// An object of std::make_shared, with its two counters and a vtable.
template <typename T>
constexpr std::size_t kSharedBytes = heap_bytes(16 + sizeof(T));

}  // namespace petstore::store
