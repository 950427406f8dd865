#pragma once

#include "../redis/in_flight.h"

namespace petstore::store {

// A coroutine that waits for Redis, see task.h.
struct Operation : redis::InFlight<Operation>::Item {
    Operation() = default;
    ~Operation()
    {
        if (coroutine != nullptr) {
            destroy(coroutine);
        }
    }

    void* coroutine = nullptr;  // until it ends
    void (*destroy)(void*) = nullptr;
    bool changed = false;  // Redis has executed a change of it
};

using Operations = redis::InFlight<Operation>;

}  // namespace petstore::store
