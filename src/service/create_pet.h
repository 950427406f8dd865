#pragma once

#include <optional>
#include <string>

#include "../api/pet.h"
#include "../redis/script_call.h"
#include "../store/pets/catalogue.h"
#include "api_request.h"
#include "operation.h"

namespace petstore::service {

// POST /pets: stores a pet.
class CreatePet final : public OperationHandler,
                        private BodyWaiter,
                        private redis::ScriptCall {
public:
    explicit CreatePet(ApiRequest& request) noexcept : request_(request) {}

    void run() override;

private:
    std::optional<api::Error> check_headers();
    void on_body(Result result, const std::string& body) noexcept override;
    void create(const std::string& body);
    void on_result(const redis::Reply& reply) noexcept override;
    void on_no_result(redis::NoReply cause) noexcept override;
    void take(const redis::Reply& reply);

    ApiRequest& request_;
    api::NewPet pet_;
    std::optional<store::Catalogue::Idempotency> idempotency_;
};

}  // namespace petstore::service
