#pragma once

#include "admitted_task.h"

namespace petstore::service {

// Refuses a guarded request or lets it through.
class GuardResponder : public Responder {
public:
    // Hands the request to the location's own handler.
    virtual void admit() noexcept = 0;

protected:
    ~GuardResponder() = default;
};

// A request to a guarded location: admission in front of another handler.
class GuardRequest final : public AdmittedTask {
public:
    GuardRequest(const Task::Context& context,
                 GuardResponder& responder) noexcept
        : AdmittedTask(context), responder_(responder)
    {}

    void run() { ask_for_admission(); }

private:
    void on_admitted() override;

    GuardResponder& responder_;
};

}  // namespace petstore::service
