#pragma once

#include "store/waiter.h"

// Records how a wait ends.
struct DoneWaiter final : petstore::store::Waiter<petstore::store::Done> {
    void on_result(const petstore::store::Outcome<petstore::store::Done>&
                       outcome) noexcept override
    {
        ++calls;
        failed = outcome.failed();
    }

    int calls = 0;
    bool failed = false;
};
