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
        if (spare_.empty()) {
            spare_.emplace_front();
        }
        const auto node = spare_.begin();
        items_.splice(items_.end(), spare_, node);
        try {
            T& item = node->emplace(std::forward<Args>(args)...);
            item.Item::self_ = node;
            return item;
        } catch (...) {
            items_.erase(node);
            throw;
        }
    }

    // Destroys the item.
    void end(T& item) noexcept
    {
        const auto node = item.Item::self_;
        ending_.splice(ending_.end(), items_, node);
        node->reset();
        if (spare_.size() < kSpare) {
            spare_.splice(spare_.begin(), ending_, node);
        } else {
            ending_.erase(node);
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

    Nodes spare_;   // without an item
    Nodes ending_;  // whose destructor runs
    Nodes items_;
};

}  // namespace petstore::redis
