#pragma once

#include "admission.h"
#include "task.h"

namespace petstore::service {

// What a guard does with a request: refuses it, or lets it through.
class GuardResponder : public Responder {
public:
    // Hands the request to the location's own handler.
    virtual void admit() noexcept = 0;

protected:
    ~GuardResponder() = default;
};

// A request to a guarded location: admission in front of another handler.
class GuardRequest final : public Task, private AdmissionClient {
public:
    GuardRequest(const Task::Context& context,
                 GuardResponder& responder) noexcept
        : Task(context), responder_(responder), admission_(*this, *this)
    {}

    void run() { admission_.run(); }

    void abandon() noexcept override
    {
        admission_.abandon();
        Task::abandon();
    }

private:
    void on_admitted() override;

    GuardResponder& responder_;
    Admission admission_;
};

}  // namespace petstore::service
