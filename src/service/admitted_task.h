#pragma once

#include "admission.h"
#include "task.h"

namespace petstore::service {

// A task that starts with admission.
class AdmittedTask : public Task, protected AdmissionHandler {
public:
    void abandon() noexcept final
    {
        admission_.abandon();
        Task::abandon();
    }

    const Admission& admission() const noexcept { return admission_; }

protected:
    explicit AdmittedTask(const Task::Context& context) noexcept
        : Task(context), admission_(*this, *this)
    {}
    ~AdmittedTask() override = default;

    void ask_for_admission() { admission_.run(); }

private:
    Admission admission_;
};

}  // namespace petstore::service
