#include "../api/page.h"
#include "pet_read.h"

namespace petstore::service {

ReadTarget page_of(const ApiRequest& request)
{
    auto query = api::parse_list_query(request.request().query());
    if (auto* error = std::get_if<api::Error>(&query)) {
        return std::move(*error);
    }
    return store::ReadKey::of_page(std::get<api::ListQuery>(query));
}

}  // namespace petstore::service
