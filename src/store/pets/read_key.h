#pragma once

#include <cstddef>
#include <cstdint>

#include "../../api/page.h"
#include "../../api/pet.h"

namespace petstore::store {

// Identifies a read: one pet or one page. The key of the response cache.
struct ReadKey {
    // Any other value is an api::Status: a page of the pets with that status.
    enum class Kind : char { pet, page };

    Kind kind = Kind::pet;
    std::int32_t limit = 0;  // pages only
    std::int64_t id = 0;     // the pet's, or the one that the page starts after

    static ReadKey of_pet(api::PetId id) noexcept { return {Kind::pet, 0, id}; }
    static ReadKey of_page(const api::ListQuery& query) noexcept;

    bool is_pet() const noexcept { return kind == Kind::pet; }
    bool is_filtered() const noexcept
    {
        return kind != Kind::pet && kind != Kind::page;
    }
    api::ListQuery query() const noexcept;  // pages only

    bool operator==(const ReadKey& other) const noexcept
    {
        return kind == other.kind && limit == other.limit && id == other.id;
    }

    struct Hash {
        std::size_t operator()(const ReadKey& key) const noexcept;
    };
};

}  // namespace petstore::store
