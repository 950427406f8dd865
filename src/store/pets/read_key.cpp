#include "read_key.h"

#include "../mix.h"

namespace petstore::store {

ReadKey ReadKey::of_page(const api::ListQuery& query) noexcept
{
    Kind kind = Kind::page;
    if (query.status) {
        switch (*query.status) {
        case api::Status::available:
            kind = Kind::available;
            break;
        case api::Status::pending:
            kind = Kind::pending;
            break;
        case api::Status::sold:
            kind = Kind::sold;
            break;
        }
    }
    return {kind, query.limit, query.after};
}

api::ListQuery ReadKey::query() const noexcept
{
    api::ListQuery query;
    query.limit = limit;
    query.after = id;
    switch (kind) {
    case Kind::available:
        query.status = api::Status::available;
        break;
    case Kind::pending:
        query.status = api::Status::pending;
        break;
    case Kind::sold:
        query.status = api::Status::sold;
        break;
    case Kind::pet:
    case Kind::page:
        break;
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
