#pragma once

#include <cstddef>
#include <new>

#include "../api/router.h"
#include "admission.h"

namespace petstore::service {

// A request for one operation of the API.
class ApiRequest;

// Executes one operation for one request. Lives as long as its ApiRequest.
class OperationHandler {
public:
    virtual ~OperationHandler() = default;

    // Determines what the operation will read, before the limiter is asked.
    // Must not end the request.
    virtual void prepare() {}

    // See AdmissionClient.
    virtual void on_limit_sent() {}
    virtual void on_limit_decided(const store::Version& version)
    {
        static_cast<void>(version);
    }

    // The request is admitted and has the scope.
    virtual void run() = 0;
};

// Stores a request's handler inside the request, so most requests need no
// further allocation.
class HandlerSlot {
public:
    HandlerSlot() = default;
    HandlerSlot(const HandlerSlot&) = delete;
    HandlerSlot& operator=(const HandlerSlot&) = delete;
    ~HandlerSlot()
    {
        if (handler_ != nullptr) {
            handler_->~OperationHandler();
        }
    }

    // The slot must be empty.
    template <typename Handler>
    void emplace(ApiRequest& request)
    {
        static_assert(sizeof(Handler) <= sizeof(memory_));
        static_assert(alignof(Handler) <= alignof(std::max_align_t));
        handler_ = new (memory_) Handler(request);
    }

    OperationHandler* get() const noexcept { return handler_; }
    OperationHandler* operator->() const noexcept { return handler_; }

private:
    OperationHandler* handler_ = nullptr;
    alignas(std::max_align_t) std::byte memory_[256];
};

// Creates the handler of an operation, which must not be Operation::none.
void make_handler(api::Operation operation, ApiRequest& request,
                  HandlerSlot& slot);

}  // namespace petstore::service
