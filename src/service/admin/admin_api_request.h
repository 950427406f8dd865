#pragma once

#include "../../api/router.h"
#include "../admission.h"
#include "../await.h"
#include "../body_source.h"
#include "../responder.h"
#include "admin_call.h"

namespace petstore::service {

// A request to the admin API: admission, the scope `admin`, a ListSlot if it is
// a list, then its operation, which goes on if the client leaves.
class AdminApiRequest final : public AdmittedTask,
                              private BodyWaiter,
                              private store::Waiter<AdminResponse> {
public:
    AdminApiRequest(const RequestTask::Context& context, BodySource& body,
                    AdminStore& store) noexcept;

    void run();
    void abandon() noexcept override;

private:
    // Releases the slot, however the request is answered, and passes that on: a
    // client that reads slowly has none meanwhile.
    class SlotRelease final : public Responder {
    public:
        SlotRelease(ListSlot& slot, Responder& responder) noexcept
            : slot_(slot), responder_(responder)
        {}
        void respond(const Response& response) noexcept override
        {
            slot_.release();
            responder_.respond(response);
        }
        void fail() noexcept override
        {
            slot_.release();
            responder_.fail();
        }

    private:
        ListSlot& slot_;
        Responder& responder_;
    };

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
    void on_slot(const store::Done&);
    void start();
    void take(const AdminResponse& result);
    void refuse_operation(const store::Failure& failure);

    const api::Route route_;
    BodySource& body_;
    AdminStore& store_;
    std::optional<api::Digest> once_;  // of its Idempotency-Key
    AdminCall call_;                   // once it was parsed
    ListSlot slot_{store_.lists};
    SlotRelease slot_release_;
    Await<store::Done, AdminApiRequest, &AdminApiRequest::on_slot>
        slot_awaited_{*this, *this};
    store::Operations running_;
};

}  // namespace petstore::service
