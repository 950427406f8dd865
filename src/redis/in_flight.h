#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <utility>

// GCC has the macro, Clang the feature.
#ifdef __SANITIZE_ADDRESS__
#define PETSTORE_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PETSTORE_ADDRESS_SANITIZER
#endif
#endif

namespace petstore::redis {

// Owns objects that wait for Redis, each from start() until end() or take(). T
// derives from InFlight<T>::Item.
template <typename T>
class InFlight {
    using Nodes = std::list<std::optional<T>>;

public:
    class Item {
    protected:
        Item() = default;
        ~Item() = default;
        Item(const Item&) = delete;
        Item& operator=(const Item&) = delete;

    private:
        friend class InFlight;
        typename Nodes::iterator self_;
    };

    InFlight() = default;
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    // Throws what T's constructor throws, and std::bad_alloc.
    template <typename... Args>
    T& start(Args&&... args)
    {
        Nodes started;
        if (spare_.empty()) {
            started.emplace_back();
        } else {
            started.splice(started.begin(), spare_, spare_.begin());
        }
        T& item = started.front().emplace(std::forward<Args>(args)...);
        item.Item::self_ = started.begin();
        items_.splice(items_.end(), started);
        return item;
    }

    // Destroys the item.
    void end(T& item) noexcept
    {
        Nodes ended = take(item);
        ended.front().reset();
        if (spare_.size() < kSpare) {
            spare_.splice(spare_.begin(), ended);
        }
    }

    // Passes ownership of the item to the caller's scope, for an item that ends
    // after one last action.
    Nodes take(T& item) noexcept
    {
        Nodes taken;
        taken.splice(taken.begin(), items_, item.Item::self_);
        return taken;
    }

    bool empty() const noexcept { return items_.empty(); }
    std::size_t size() const noexcept { return items_.size(); }

private:
    // A worker starts and ends as many items as requests, tens at a time.
    // Reusing their memory is cheaper than free() and malloc(), which keep only
    // seven blocks of a size at hand. AddressSanitizer must see each end.
#ifdef PETSTORE_ADDRESS_SANITIZER
    static constexpr std::size_t kSpare = 0;
#else
    static constexpr std::size_t kSpare = 64;
#endif

    Nodes spare_;  // without an item
    Nodes items_;
};

}  // namespace petstore::redis
