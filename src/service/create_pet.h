#pragma once

#include <optional>
#include <string>

#include "../api/pet.h"
#include "../store/pets/create_queue.h"
#include "api_request.h"
#include "await.h"
#include "body_source.h"

namespace petstore::service {

// POST /pets: stores a pet.
class CreatePet final : public AdmissionHandler, private BodyWaiter {
public:
    explicit CreatePet(ApiRequest& request) noexcept : request_(request) {}

    void on_admitted() override;
    void on_key_confirmed() override;

private:
    std::optional<api::Error> check_headers();
    void on_body(Result result, const std::string& body) noexcept override;
    void parse(const std::string& body);
    void respond(const store::CreatedPet& created);

    ApiRequest& request_;
    Await<store::CreatedPet, CreatePet, &CreatePet::respond> created_{request_,
                                                                      *this};
    api::NewPet pet_;
    std::optional<store::Idempotency> idempotency_;
};

}  // namespace petstore::service
