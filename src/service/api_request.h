#pragma once

#include "../api/router.h"
#include "admitted_task.h"
#include "body_source.h"
#include "operation.h"

namespace petstore::service {

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
