#pragma once

#include <cstdint>
#include <optional>

#include "../api/digest.h"
#include "../store/storage.h"
#include "request.h"
#include "request_state.h"
#include "settings.h"

namespace petstore::service {

// What a worker knows about a key: its record, or why it is refused. Neither:
// the record must be read from Redis.
struct FoundKey {
    store::Ref<store::CachedKey> valid;
    std::optional<store::RefusedKey> refused;
};

// Reads the API key of a client's request, once: later the header may be gone,
// and another location may expect another header.
const SentKey& read_key(const Request& request, const Settings& settings,
                        RequestState& state);

// Finds an API key. `digest` is that of the key.
FoundKey find_key(const SentKey& sent, store::Storage& storage,
                  api::Digest& digest);

// Replaces a record that is older than its account's `epoch`. Another request
// may have read a newer one meanwhile.
FoundKey find_newer_key(const api::Digest& digest,
                        const store::Ref<store::CachedKey>& key,
                        std::int64_t epoch, store::Storage& storage);

// Remembers that a key does not exist (nullptr) or is no longer usable, as was
// asked at that time.
store::RefusedKey forget_key(const api::Digest& digest,
                             const store::CachedKey* key,
                             store::Monotonic asked, store::Storage& storage);

}  // namespace petstore::service
