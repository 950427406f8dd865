#pragma once

#include <optional>
#include <vector>

#include "../store/pets/version.h"
#include "../store/storage.h"
#include "authentication.h"
#include "await.h"
#include "request_task.h"

namespace petstore::service {

// Callbacks of Admission, in order. Implemented by ApiRequest, which forwards
// them to its operation, and by GuardRequest.
class AdmissionHandler {
public:
    virtual ~AdmissionHandler() = default;

    // The key is valid and the limiter is about to be asked: determines what
    // will be read. Must not end the request.
    virtual void prepare() {}

    // After prepare(): whether the request needs the catalogue's version, which
    // the limiter's reply then brings along.
    virtual bool needs_version() const noexcept { return false; }

    // The limiter's command was sent; reads sent now are executed after it, in
    // the same round trip. May be skipped.
    virtual void on_limit_sent() {}

    // Data read after that command are at least as new as `version`.
    virtual void on_limit_decided(const store::Version& /*version*/) {}

    // Called once. An operation's key has the scope for it.
    virtual void on_admitted() = 0;

    // After Admission::confirm_key(): the key is still usable, and for an
    // operation has its scope.
    virtual void on_key_confirmed() {}
};

// Admits or refuses a request: key → expiry → plans → limits → rate headers. A
// refused request is answered here; its handler is not called.
//
// This class decides in which order the steps are taken; no step knows it.
// Authentication and refusal answer the requests that they refuse; only
// Authentication waits for Redis.
class Admission final : private Authentication::Owner,
                        private store::LimitObserver,
                        private store::Waiter<store::LimitAnswer>,
                        private store::BanLog {
public:
    // Both borrowed, and part of the same object as this.
    Admission(RequestTask& task, AdmissionHandler& handler) noexcept
        : task_(task), handler_(handler)
    {}

    void run();

    // Call once admitted, before an operation has effects: the body may have
    // come long after the headers, and the key may have been revoked meanwhile.
    // Reads its records again if it was not proven a moment ago. Calls the
    // handler's on_key_confirmed(), possibly before returning, or answers the
    // request if the key is not usable or Redis cannot be asked. Charges
    // nothing.
    void confirm_key();

    // Call when the request is being freed. No further subrequest may then wait
    // for this decision; those that already do are resumed with the limiter's
    // reply.
    void abandon() noexcept;

    // Valid once admitted.
    const store::CachedKey& key() const noexcept
    {
        return *authentication_.key();
    }

    // The catalogue's version, if the limiter's reply contained it.
    const std::optional<store::Version>& version() const noexcept
    {
        return version_;
    }

private:
    using Record = Authentication::Record;

    void on_key(Record record) override;
    void check_limits(Record record);
    void take_plans(const store::Done&);
    bool is_key_proven() const noexcept;
    bool is_key_recent() const noexcept;
    void share_decision(Record record);
    void take_marker(const store::Done&);
    void on_limit_sent() noexcept override;
    void on_result(
        const store::Outcome<store::LimitAnswer>& outcome) noexcept override;
    void take_answer(const store::LimitAnswer& answer);
    void act_on(const api::Decision& decision);
    void take_counted(const api::Decision& decision);
    void account_banned(const store::Account& account,
                        const store::AccountStatus& status) noexcept override;

    RequestTask& task_;
    AdmissionHandler& handler_;
    Authentication authentication_{task_, *this};
    Await<store::Done, Admission, &Admission::take_plans> plans_read_{task_,
                                                                      *this};
    Await<store::Done, Admission, &Admission::take_marker> marker_read_{task_,
                                                                        *this};
    Await<api::Decision, Admission, &Admission::take_counted> denial_counted_{
        task_, *this};

    bool plans_awaited_ = false;
    bool confirming_ = false;    // the key, of an admitted request
    bool reread_ = false;        // the key, because it was not proven
    bool placed_ = false;        // accounts live where the limiter is asked
    store::Monotonic sent_ = 0;  // when the limiter was asked
    std::vector<Admission*> followers_;  // subrequests that share the decision
    std::optional<store::Version> version_;
};

// A task that starts with admission.
class AdmittedTask : public RequestTask, protected AdmissionHandler {
public:
    void abandon() noexcept override
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
