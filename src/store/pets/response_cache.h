#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "../bounded_cache.h"
#include "../memory.h"
#include "change_log.h"
#include "read_key.h"
#include "version.h"

namespace petstore::store {

// The response to a read, ready to be sent. Shared by the cache and the
// responses being written.
struct CachedResponse {
    std::string body;
    // The cursor of the next page: the last id of this one; 0 if there is none.
    api::PetId next_after = 0;
    // The catalogue was at this version, or a later one, when it was read.
    Version version;
    // The response depends on the pets of these buckets only: those it
    // contains, and on a filtered page also those that were searched, up to the
    // first pet of the next page.
    BucketSpan buckets;
    // New pets get higher ids: they change the last page, but no other page and
    // no pet.
    bool is_last_page = false;

    bool is_current(const Version& now, const ChangeLog& log) const noexcept
    {
        return log.unchanged(buckets, version.changes, now.changes)
               && (!is_last_page || version.count == now.count);
    }
};

using SharedResponse = std::shared_ptr<const CachedResponse>;

struct CachedResponseBytes {
    std::size_t operator()(const SharedResponse& response) const
    {
        return kSharedBytes<CachedResponse> + heap_bytes(response->body);
    }
};

// May hold outdated responses: see is_current().
using ResponseCache =
    BoundedCache<ReadKey, SharedResponse, ReadKey::Hash, CachedResponseBytes>;

}  // namespace petstore::store
