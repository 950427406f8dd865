#pragma once

#include <cstdint>
#include <optional>

#include "../api/digest.h"
#include "../store/storage.h"
#include "request.h"

namespace petstore::service {

// What a worker knows about a key: its record, or why it is refused. Neither:
// the record must be read from Redis.
struct FoundKey {
    store::Ref<store::CachedKey> valid;
    std::optional<store::RefusedKey> refused;
};

// Finds the API key of a request. `digest` is that of the key.
FoundKey find_key(const Request& request, store::Storage& storage,
                  api::Digest& digest);

// Replaces a record that is older than its account's `epoch`. Another request
// may have read a newer one meanwhile.
FoundKey find_newer_key(const api::Digest& digest,
                        const store::Ref<store::CachedKey>& key,
                        std::int64_t epoch, store::Storage& storage);

// Remembers that a key does not exist (nullptr) or is no longer usable.
store::RefusedKey forget_key(const api::Digest& digest,
                             const store::CachedKey* key,
                             store::Storage& storage);

}  // namespace petstore::service
