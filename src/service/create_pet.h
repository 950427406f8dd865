#pragma once

#include <optional>
#include <string>

#include "../api/pet.h"
#include "../store/pets/create_queue.h"
#include "api_request.h"
#include "body_source.h"
#include "operation.h"

namespace petstore::service {

// POST /pets: stores a pet.
class CreatePet final : public OperationHandler,
                        private BodyWaiter,
                        private store::CreateWaiter {
public:
    explicit CreatePet(ApiRequest& request) noexcept : request_(request) {}

    void run() override;

private:
    std::optional<api::Error> check_headers();
    void on_body(Result result, const std::string& body) noexcept override;
    void create(const std::string& body);
    void
    on_created(const store::CreatedPets::Created& created) noexcept override;
    void on_create_no_reply(redis::NoReply cause) noexcept override;
    void take(const store::CreatedPets::Created& created);
    void fail(const redis::Reply& error);

    ApiRequest& request_;
    api::NewPet pet_;
    std::optional<store::Idempotency> idempotency_;
};

}  // namespace petstore::service
