#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "call.h"
#include "operations.h"
#include "waiter.h"

// Administration as coroutines: an operation awaits one command after another
// and never blocks. Another coroutine awaits it, or run() hands its outcome to
// a waiter. Needs C++20: in the module, only administration and the admin API
// include this header; see config.

namespace petstore::store {

template <typename T>
struct TaskResult {
    void return_value(T value) { value_.emplace(std::move(value)); }
    T take() { return std::move(*value_); }

private:
    std::optional<T> value_;
};

template <>
struct TaskResult<void> {
    void return_void() noexcept {}
    void take() noexcept {}
};

// A part of an operation: a coroutine that starts when it is awaited. What it
// throws, the awaiting expression throws. Call and await it in one expression:
// it refers to arguments passed by reference, and to the object whose member it
// is, but does not extend their lives.
template <typename T = void>
class [[nodiscard]] Task {
public:
    struct promise_type : TaskResult<T> {
        struct Final {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<>
            await_suspend(std::coroutine_handle<promise_type> ended) noexcept
            {
                return ended.promise().parent;
            }
            void await_resume() const noexcept {}
        };

        Task get_return_object() noexcept
        {
            return Task(Handle::from_promise(*this));
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        Final final_suspend() const noexcept { return {}; }
        void unhandled_exception() noexcept
        {
            exception = std::current_exception();
        }

        std::coroutine_handle<> parent;
        Operation* operation = nullptr;  // that it is a part of
        std::exception_ptr exception;
    };

    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {}
    ~Task()
    {
        if (handle_) {
            handle_.destroy();
        }
    }

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<>
    await_suspend(std::coroutine_handle<Promise> parent) noexcept
    {
        handle_.promise().parent = parent;
        handle_.promise().operation = parent.promise().operation;
        return handle_;
    }
    T await_resume()
    {
        if (handle_.promise().exception) {
            std::rethrow_exception(handle_.promise().exception);
        }
        return handle_.promise().take();
    }

private:
    using Handle = std::coroutine_handle<promise_type>;

    explicit Task(Handle handle) noexcept : handle_(handle) {}

    Handle handle_;
};

// Awaits a task for run() and destroys itself at its end.
struct TaskRoot {
    struct promise_type {
        TaskRoot get_return_object() noexcept
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() noexcept {}
        [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

        Operation* operation = nullptr;
    };

    std::coroutine_handle<promise_type> handle;
};

inline Failure failure_of(Failure failure, bool changed)
{
    failure.after_change = changed && failure.refusal == Refusal::none;
    return failure;
}

template <typename T, typename Result>
TaskRoot await_for(Waiter<Result>& waiter, Task<T> task, Operations& all,
                   Operation& self)
{
    std::optional<Outcome<Result>> outcome;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await task;
            outcome.emplace(Done{});
        } else {
            outcome.emplace(co_await task);
        }
    } catch (Failed& failed) {
        outcome.emplace(failure_of(std::move(failed.failure), self.changed));
    } catch (...) {
        outcome.emplace(failure_of(unavailable(), self.changed));
    }
    self.coroutine = nullptr;
    all.end(self);  // the waiter may destroy `all`
    waiter.on_result(*outcome);
}

// Runs a task until it ends, at the latest with its owner. What it throws
// becomes a failure. Throws std::bad_alloc, and has then done nothing.
template <typename T, typename Result>
void run(Operations& all, Task<T> task, Waiter<Result>& waiter)
{
    Operation& operation = all.start();
    std::coroutine_handle<TaskRoot::promise_type> root;
    try {
        root = await_for(waiter, std::move(task), all, operation).handle;
    } catch (...) {
        all.end(operation);
        throw;
    }
    root.promise().operation = &operation;
    operation.coroutine = root.address();
    operation.destroy = [](void* coroutine) {
        std::coroutine_handle<>::from_address(coroutine).destroy();
    };
    root.resume();
}

// co_await runs a task as an operation within another: all that the task throws
// becomes Failed, and its Failure::after_change is about the task alone.
template <typename T>
class [[nodiscard]] Nested {
public:
    explicit Nested(Task<T> task) noexcept : task_(std::move(task)) {}

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<>
    await_suspend(std::coroutine_handle<Promise> parent) noexcept
    {
        operation_ = parent.promise().operation;
        changed_before_ = std::exchange(operation_->changed, false);
        return task_.await_suspend(parent);
    }
    T await_resume()
    {
        const bool changed = operation_->changed;
        operation_->changed |= changed_before_;
        try {
            return task_.await_resume();
        } catch (Failed& failed) {
            failed.failure = failure_of(std::move(failed.failure), changed);
            throw;
        } catch (...) {
            throw Failed{failure_of(unavailable(), changed)};
        }
    }

private:
    Task<T> task_;
    Operation* operation_ = nullptr;
    bool changed_before_ = false;
};

// co_await runs make(item) for each item of a range, which must outlive it, at
// most `at_once` at a time. After a failure no more are started; it is thrown
// once all have ended.
template <typename Range, typename Make>
class [[nodiscard]] ForEach final : private Waiter<Done> {
public:
    ForEach(const Range& range, std::size_t at_once, Make make)
        : next_(range.begin()), end_(range.end()), at_once_(at_once),
          make_(std::move(make))
    {}

    bool await_ready() const noexcept { return next_ == end_; }
    bool await_suspend(std::coroutine_handle<> task) noexcept
    {
        start_more();
        task_ = task;
        return !ended();
    }
    void await_resume()
    {
        if (failure_) {
            throw Failed{std::move(*failure_)};
        }
    }

private:
    void on_result(const Outcome<Done>& outcome) noexcept override
    {
        --running_;
        if (outcome.failed() && !failure_) {
            keep(*outcome.failure());
        }
        if (!starting_) {
            start_more();
            if (ended()) {
                task_.resume();
            }
        }
    }

    // A task may end before run() returns.
    void start_more() noexcept
    {
        starting_ = true;
        while (!failure_ && next_ != end_ && running_ < at_once_) {
            ++running_;
            try {
                run(operations_, make_(*next_++), *this);
            } catch (...) {
                --running_;
                failure_ = unavailable();
            }
        }
        starting_ = false;
    }

    void keep(const Failure& failure) noexcept
    {
        try {
            failure_ = failure;
        } catch (...) {
            failure_ = unavailable();
        }
    }

    bool ended() const noexcept
    {
        return running_ == 0 && (failure_ || next_ == end_);
    }

    typename Range::const_iterator next_;
    const typename Range::const_iterator end_;
    const std::size_t at_once_;
    Make make_;
    std::size_t running_ = 0;
    bool starting_ = false;
    std::optional<Failure> failure_;
    std::coroutine_handle<> task_;
    Operations operations_;
};

}  // namespace petstore::store
