#pragma once

#include "pet_read.h"

namespace petstore::service {

// GET /pets/{id}: one pet, until the operation's sunset.
class GetPet final : public PetRead {
public:
    explicit GetPet(ApiRequest& request) noexcept : PetRead(request) {}

private:
    Target target() const override;
};

}  // namespace petstore::service
