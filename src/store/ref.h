#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace petstore::store {

// The count of Refs to an object. Neither copied nor moved, because it belongs
// to the object.
class RefCounted {
public:
    RefCounted(const RefCounted&) = delete;
    RefCounted& operator=(const RefCounted&) = delete;

protected:
    RefCounted() = default;
    ~RefCounted() = default;

private:
    template <typename>
    friend class Ref;
    mutable std::uint32_t refs_ = 0;
};

// Shares ownership of an object that make_ref() created. Half the size of a
// std::shared_ptr and without a control block: a worker has 100,000 of them.
// Not thread-safe.
template <typename T>
class Ref {
public:
    Ref() = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    Ref(std::nullptr_t) noexcept {}
    explicit Ref(T* object) noexcept : object_(object) { acquire(); }
    Ref(const Ref& other) noexcept : object_(other.object_) { acquire(); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr))
    {}
    // Converts to Ref<const T>.
    template <typename U>
    // NOLINTNEXTLINE(google-explicit-constructor)
    Ref(const Ref<U>& other) noexcept : Ref(static_cast<T*>(other.get()))
    {}
    ~Ref()
    {
        if (object_ != nullptr && --object_->refs_ == 0) {
            delete object_;
        }
    }
    Ref& operator=(Ref other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }

    void reset() noexcept { *this = nullptr; }

    T* get() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    void acquire() noexcept
    {
        if (object_ != nullptr) {
            ++object_->refs_;
        }
    }

    T* object_ = nullptr;
};

template <typename T, typename U>
bool operator==(const Ref<T>& a, const Ref<U>& b) noexcept
{
    return a.get() == b.get();
}
template <typename T, typename U>
bool operator!=(const Ref<T>& a, const Ref<U>& b) noexcept
{
    return a.get() != b.get();
}
template <typename T>
bool operator==(const Ref<T>& a, std::nullptr_t) noexcept
{
    return a.get() == nullptr;
}
template <typename T>
bool operator!=(const Ref<T>& a, std::nullptr_t) noexcept
{
    return a.get() != nullptr;
}

template <typename T, typename... Arguments>
Ref<T> make_ref(Arguments&&... arguments)
{
    return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace petstore::store
