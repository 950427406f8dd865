#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "store/pets/read_cache.h"

// A catalogue whose ids have no gaps: each is its pet's position.
inline const std::string kOneSegment =
    "0000000001:0000000000000001 " + std::string(40, 'f');

inline petstore::store::PetIds one_segment()
{
    return *petstore::store::PetIds::parse(kOneSegment);
}

// The cache knows this for ever, as long as it is not dropped, so that reads
// need not ask for it.
inline void know_ids(petstore::store::ReadCache& cache)
{
    cache.generation();  // drops what belongs to a lost connection
    if (cache.ids() == nullptr) {
        cache.put(one_segment(), std::numeric_limits<std::int64_t>::max());
    }
}
