#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "../../store/task.h"
#include "pump.h"

namespace petstore::ctl {

// Throws a failed outcome as ctl's Failure, with the links' words for what is
// wrong with Redis.
[[noreturn]] void throw_failure(const store::Failure& failure,
                                const Pump& pump);

// Keeps one result.
template <typename T>
class Awaited final : public store::Waiter<T> {
public:
    void on_result(const store::Outcome<T>& outcome) noexcept override
    {
        try {
            outcome_.emplace(outcome);
        } catch (...) {
            outcome_.emplace(store::Failure{
                {api::ErrorCode::service_unavailable, "Out of memory."}, true});
        }
    }

    bool ready() const noexcept { return outcome_.has_value(); }

    // Throws Failure.
    T take(const Pump& pump)
    {
        if (const store::Failure* const failure = outcome_->failure()) {
            throw_failure(*failure, pump);
        }
        return std::move(outcome_->value());
    }

private:
    std::optional<store::Outcome<T>> outcome_;
};

// A change for a task to call that keeps what `change` throws, for await().
// Refers to both.
template <typename Change>
auto keep_error(std::exception_ptr& kept, const Change& change)
{
    return [&](auto& record) {
        try {
            change(record);
        } catch (...) {
            kept = std::current_exception();
            throw;
        }
    };
}

// Runs a task, lets the links work until it ends, and returns its result.
// Throws Failure, or what was kept, after the links have finished.
template <typename T>
T await(Pump& pump, store::Task<T> task,
        const std::exception_ptr& kept = nullptr)
{
    using Value = std::conditional_t<std::is_void_v<T>, store::Done, T>;
    Awaited<Value> result;
    store::Operations running;
    pump.forget_problem();
    store::run(running, std::move(task), result);
    pump.run_until([&] { return result.ready(); });
    if (kept) {
        std::rethrow_exception(kept);
    }
    return static_cast<T>(result.take(pump));
}

}  // namespace petstore::ctl
