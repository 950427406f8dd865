#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <utility>

namespace petstore::redis {

// Owns objects that wait for Redis, each from start() until end() or take(). T
// derives from InFlight<T>::Item.
template <typename T>
class InFlight {
public:
    class Item {
    protected:
        Item() = default;
        ~Item() = default;
        Item(const Item&) = delete;
        Item& operator=(const Item&) = delete;

    private:
        friend class InFlight;
        typename std::list<T>::iterator self_;
    };

    InFlight() = default;
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    // Throws what T's constructor throws, and std::bad_alloc.
    template <typename... Args>
    T& start(Args&&... args)
    {
        T& item = items_.emplace_back(std::forward<Args>(args)...);
        item.Item::self_ = std::prev(items_.end());
        return item;
    }

    // Destroys the item.
    void end(T& item) noexcept { items_.erase(item.Item::self_); }

    // Passes ownership of the item to the caller's scope, for an item that ends
    // after one last action.
    std::list<T> take(T& item) noexcept
    {
        std::list<T> taken;
        taken.splice(taken.begin(), items_, item.Item::self_);
        return taken;
    }

    bool empty() const noexcept { return items_.empty(); }
    std::size_t size() const noexcept { return items_.size(); }

private:
    std::list<T> items_;
};

}  // namespace petstore::redis
