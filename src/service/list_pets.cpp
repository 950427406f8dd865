#include "list_pets.h"

#include "../api/page.h"

namespace petstore::service {

PetRead::Target ListPets::target() const
{
    auto query = api::parse_list_query(request().request().query());
    if (auto* error = std::get_if<api::Error>(&query)) {
        return std::move(*error);
    }
    return store::ReadKey::of_page(std::get<api::ListQuery>(query));
}

std::string ListPets::link(const store::ReadKey& key,
                           const store::CachedResponse& response) const
{
    return response.next_after == 0
               ? std::string()
               : api::page_links(request().settings().link_base, key.query(),
                                 response.next_after);
}

}  // namespace petstore::service
