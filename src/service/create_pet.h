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
                        private store::Waiter<store::CreatedPet> {
public:
    explicit CreatePet(ApiRequest& request) noexcept : request_(request) {}

    void on_admitted() override;

private:
    std::optional<api::Error> check_headers();
    void on_body(Result result, const std::string& body) noexcept override;
    void create(const std::string& body);
    void on_result(
        const store::Outcome<store::CreatedPet>& outcome) noexcept override;
    void respond(const store::CreatedPet& created);

    ApiRequest& request_;
    api::NewPet pet_;
    std::optional<store::Idempotency> idempotency_;
};

}  // namespace petstore::service
