#pragma once

#include "../store/waiter.h"
#include "request_task.h"

namespace petstore::service {

// Waits for results of one kind: passes a value to `take` of the owner, which
// is part of the task, and refuses the request after a failure.
template <typename T, typename Owner, void (Owner::*take)(const T&)>
class Await final : private store::Waiter<T> {
public:
    // Both borrowed.
    Await(RequestTask& task, Owner& owner) noexcept : task_(task), owner_(owner)
    {}

    // For one wait, which the store must now be asked for. Nothing may throw
    // before it has the waiter.
    store::Waiter<T>& begin() noexcept
    {
        task_.wait();
        return *this;
    }

private:
    void on_result(const store::Outcome<T>& outcome) noexcept override
    {
        task_.deliver([&] {
            if (const auto* failure = outcome.failure()) {
                task_.refuse(failure->error);
            } else {
                (owner_.*take)(outcome.value());
            }
        });
    }

    RequestTask& task_;
    Owner& owner_;
};

}  // namespace petstore::service
