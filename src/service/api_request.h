#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "../api/router.h"
#include "admission.h"
#include "body_source.h"

namespace petstore::service {

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

// A request to the API: admission, then its operation.
class ApiRequest final : public AdmittedTask {
public:
    ApiRequest(const RequestTask::Context& context, BodySource& body) noexcept;

    void run();

    // Whether such a request is answered without admission.
    static bool needs_no_key(api::Method method,
                             const api::Route& route) noexcept
    {
        return method == api::Method::options || route.is_document;
    }

    const api::Route& route() const noexcept { return route_; }
    BodySource& body() const noexcept { return body_; }

private:
    void prepare() override;
    bool needs_version() const noexcept override;
    void on_limit_sent() override;
    void on_limit_decided(const store::Version& version) override;
    void on_admitted() override;
    void on_key_confirmed() override;
    void answer_options();
    void answer_document();

    const api::Route route_;
    BodySource& body_;
    HandlerSlot handler_;
};

}  // namespace petstore::service
