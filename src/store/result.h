#pragma once

#include <coroutine>
#include <optional>
#include <utility>

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

    bool await_ready() const noexcept { return outcome_.has_value(); }
    void await_suspend(std::coroutine_handle<> task) noexcept { task_ = task; }
    T await_resume()
    {
        if (const Failure* failure = outcome_->failure()) {
            throw Failed{*failure};
        }
        return std::move(outcome_->value());
    }

private:
    void on_result(const Outcome<T>& outcome) noexcept override
    {
        outcome_.emplace(outcome);
        if (task_) {
            task_.resume();
        }
    }

    std::optional<Outcome<T>> outcome_;
    std::coroutine_handle<> task_;
};

}  // namespace petstore::store
