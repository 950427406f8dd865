#pragma once

#include "pet_read.h"

namespace petstore::service {

// GET /pets: a page of pets.
class ListPets final : public PetRead {
public:
    explicit ListPets(ApiRequest& request) noexcept : PetRead(request) {}

private:
    Target target() const override;
    std::string link(const store::ReadKey& key,
                     const store::CachedResponse& response) const override;
};

}  // namespace petstore::service
