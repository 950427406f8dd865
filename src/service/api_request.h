#pragma once

#include "../api/router.h"
#include "admission.h"
#include "operation.h"
#include "task.h"

namespace petstore::service {

// A request to the API: admission, then its operation.
class ApiRequest final : public Task, private AdmissionClient {
public:
    explicit ApiRequest(const Task::Context& context) noexcept;

    void run();

    void abandon() noexcept override
    {
        admission_.abandon();
        Task::abandon();
    }

    const api::Route& route() const noexcept { return route_; }
    const Admission& admission() const noexcept { return admission_; }

private:
    void prepare() override;
    void on_limit_sent() override;
    void on_limit_decided(const store::Version& version) override;
    void on_admitted() override;
    void answer_options();

    const api::Route route_;
    Admission admission_;
    HandlerSlot handler_;
};

}  // namespace petstore::service
