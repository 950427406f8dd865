#include "get_pet.h"

#include "../api/text.h"

namespace petstore::service {

PetRead::Target GetPet::target() const
{
    const auto sunset = request().settings().get_sunset;
    if (sunset != Settings::kNeverGone
        && request().storage().clock.host_time() / 1000 >= sunset) {
        return api::Error{
            api::ErrorCode::gone,
            "This operation has been shut down; list pets instead."};
    }
    const auto id = api::parse_int64(request().route().id);
    if (!id || *id <= 0) {
        return store::no_such_pet();
    }
    return store::ReadKey::of_pet(*id);
}

}  // namespace petstore::service
