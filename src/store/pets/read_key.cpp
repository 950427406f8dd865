#include "read_key.h"

#include "../mix.h"

namespace petstore::store {

ReadKey ReadKey::of_page(const api::ListQuery& query) noexcept
{
    const Kind kind =
        query.status ? static_cast<Kind>(*query.status) : Kind::page;
    return {kind, query.limit, query.after};
}

api::ListQuery ReadKey::query() const noexcept
{
    api::ListQuery query;
    query.limit = limit;
    query.after = id;
    if (is_filtered()) {
        query.status = static_cast<api::Status>(kind);
    }
    return query;
}

std::size_t ReadKey::Hash::operator()(const ReadKey& key) const noexcept
{
    return mix(static_cast<std::uint64_t>(key.id)
               ^ static_cast<std::uint64_t>(key.limit) << 48
               ^ static_cast<std::uint64_t>(key.kind) << 56);
}

}  // namespace petstore::store
