#pragma once

#include "admission.h"
#include "request_task.h"

namespace petstore::service {

// A task that starts with admission.
class AdmittedTask : public RequestTask, protected AdmissionHandler {
public:
    void abandon() noexcept final
    {
        admission_.abandon();
        RequestTask::abandon();
    }

    // See Admission::confirm_key().
    void confirm_key() { admission_.confirm_key(); }

    const Admission& admission() const noexcept { return admission_; }

protected:
    explicit AdmittedTask(const RequestTask::Context& context) noexcept
        : RequestTask(context), admission_(*this, *this)
    {}
    ~AdmittedTask() override = default;

    void ask_for_admission() { admission_.run(); }

private:
    Admission admission_;
};

}  // namespace petstore::service
