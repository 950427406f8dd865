#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "../api/router.h"
#include "admission_handler.h"

namespace petstore::service {

// A request for one operation of the API.
class ApiRequest;

// Stores the handler of a request's operation inside the request, so most
// requests need no further allocation.
class HandlerSlot {
public:
    HandlerSlot() = default;
    HandlerSlot(const HandlerSlot&) = delete;
    HandlerSlot& operator=(const HandlerSlot&) = delete;
    ~HandlerSlot()
    {
        if (handler_ != nullptr) {
            handler_->~AdmissionHandler();
        }
    }

    // The slot must be empty.
    template <typename Handler, typename... Args>
    void emplace(Args&&... args)
    {
        static_assert(sizeof(Handler) <= sizeof(memory_));
        static_assert(alignof(Handler) <= alignof(std::max_align_t));
        handler_ = new (memory_) Handler(std::forward<Args>(args)...);
    }

    AdmissionHandler* get() const noexcept { return handler_; }
    AdmissionHandler* operator->() const noexcept { return handler_; }

private:
    AdmissionHandler* handler_ = nullptr;
    alignas(std::max_align_t) std::byte memory_[256];
};

// Creates the handler of an operation on pets. Throws std::logic_error for
// another one.
void make_handler(api::Operation operation, ApiRequest& request,
                  HandlerSlot& slot);

}  // namespace petstore::service
