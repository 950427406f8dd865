#pragma once

#include "../../api/router.h"
#include "../admission.h"
#include "../body_source.h"
#include "admin_call.h"

namespace petstore::service {

// A request to the admin API: admission, the scope `admin`, then its operation,
// which goes on if the client leaves.
class AdminApiRequest final : public AdmittedTask,
                              private BodyWaiter,
                              private store::Waiter<AdminResponse> {
public:
    AdminApiRequest(const RequestTask::Context& context, BodySource& body,
                    AdminStore& store) noexcept;

    void run();

private:
    void on_admitted() override;
    void on_key_confirmed() override;
    void on_body(Result result, const std::string& body) noexcept override;
    void
    on_result(const store::Outcome<AdminResponse>& outcome) noexcept override;

    bool has_method(api::Method method) const noexcept
    {
        return request().method() == method;
    }
    void parse(const std::string& body);
    void start();
    void take(const AdminResponse& result);
    void refuse_operation(const store::Failure& failure);

    const api::Route route_;
    BodySource& body_;
    AdminStore& store_;
    std::optional<api::Digest> once_;  // of its Idempotency-Key
    AdminCall call_;                   // once it was parsed
    store::Operations running_;
};

}  // namespace petstore::service
