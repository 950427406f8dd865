#pragma once

#include "admission.h"

namespace petstore::service {

// Hands an admitted request to the location's own handler.
class Gate {
public:
    // The request may be gone when this returns.
    virtual void admit() noexcept = 0;

protected:
    ~Gate() = default;
};

// A request to a guarded location: admission in front of another handler.
class GuardRequest final : public AdmittedTask {
public:
    GuardRequest(const RequestTask::Context& context, Gate& gate) noexcept
        : AdmittedTask(context), gate_(gate)
    {}

    void run() { ask_for_admission(); }

private:
    void on_admitted() override;

    Gate& gate_;
};

}  // namespace petstore::service
