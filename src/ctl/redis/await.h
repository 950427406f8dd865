#pragma once

#include <optional>
#include <utility>

#include "../../store/waiter.h"
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

// Calls start() with a waiter, lets the links work until the waiter has its
// result, and returns that. Throws Failure, after the links have finished.
template <typename T, typename Start>
T await(Pump& pump, Start&& start)
{
    Awaited<T> result;
    pump.forget_problem();
    start(static_cast<store::Waiter<T>&>(result));
    pump.run_until([&] { return result.ready(); });
    return result.take(pump);
}

}  // namespace petstore::ctl
