#pragma once

#include <coroutine>
#include <new>
#include <optional>

#include "call.h"
#include "waiter.h"

namespace petstore::store {

// A waiter whose result a coroutine awaits: give it to a function that wants a
// waiter, then co_await it, once. A failure is thrown as Failed. Needs C++20.
template <typename T>
class [[nodiscard]] Result final : public Waiter<T> {
public:
    Result() = default;
    Result(const Result&) = delete;
    Result& operator=(const Result&) = delete;

    bool await_ready() const noexcept { return came_; }
    void await_suspend(std::coroutine_handle<> task) noexcept { task_ = task; }
    T await_resume()
    {
        // Of on_result(), which resumed the coroutine, or else the copy.
        const Outcome<T>* outcome = given_ != nullptr ? given_
                                    : outcome_        ? &*outcome_
                                                      : nullptr;
        if (outcome == nullptr) {
            throw std::bad_alloc();
        }
        if (const Failure* failure = outcome->failure()) {
            throw Failed{*failure};
        }
        return outcome->value();
    }

private:
    void on_result(const Outcome<T>& outcome) noexcept override
    {
        came_ = true;
        if (task_) {
            given_ = &outcome;
            return task_.resume();
        }
        try {
            outcome_.emplace(outcome);
        } catch (...) {
            outcome_.reset();
        }
    }

    bool came_ = false;
    const Outcome<T>* given_ = nullptr;
    std::optional<Outcome<T>> outcome_;
    std::coroutine_handle<> task_;
};

}  // namespace petstore::store
