// Lists in shared memory whose items are never removed, but used by one process
// after the other. An item has `next` and `owner`, a process ID or 0.
#pragma once

#include <atomic>
#include <cstdint>

namespace petstore::metrics {

// True for the ID of a living process.
using IsAlive = bool (*)(std::int64_t process) noexcept;

// Puts a new item in front. Writers need a lock, readers do not: with the
// acquire in first(), they find the item constructed and, because each writer
// had the lock after the one before, all older items, too.
template <typename T>
void push_front(std::atomic<T*>& list, T& item) noexcept
{
    item.next = list.load(std::memory_order_relaxed);
    list.store(&item, std::memory_order_release);
}

template <typename T>
T* first(const std::atomic<T*>& list) noexcept
{
    return list.load(std::memory_order_acquire);
}

// Release and acquire: what one owner did to the item is over before the next
// one resets it, and whoever sees the next one sees it reset.
template <typename T>
void set_owner(T& item, std::int64_t process) noexcept
{
    item.owner.store(process, std::memory_order_release);
}

template <typename T>
std::int64_t owner_of(const T& item) noexcept
{
    return item.owner.load(std::memory_order_acquire);
}

// The first item that is free or whose process has died; nullptr if none. Needs
// the writers' lock.
template <typename T>
T* find_free(const std::atomic<T*>& list, IsAlive is_alive) noexcept
{
    for (T* item = first(list); item != nullptr; item = item->next) {
        const std::int64_t owner = owner_of(*item);
        if (owner == 0 || !is_alive(owner)) {
            return item;
        }
    }
    return nullptr;
}

}  // namespace petstore::metrics
