#include "../api/text.h"
#include "pet_read.h"

namespace petstore::service {

ReadTarget pet_of(const ApiRequest& request)
{
    const auto sunset = request.settings().get_sunset;
    if (sunset != Settings::kNeverGone
        && request.storage().clock.host_time() / 1000 >= sunset) {
        return api::Error{
            api::ErrorCode::gone,
            "This operation has been shut down; list pets instead."};
    }
    const auto id = api::parse_int64(request.route().id);
    if (!id || *id <= 0) {
        return store::no_such_pet();
    }
    return store::ReadKey::of_pet(*id);
}

}  // namespace petstore::service
