#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../clock.h"
#include "../key_servers.h"
#include "../operations.h"
#include "../waiter.h"
#include "stored_key.h"

namespace petstore::store {

// Replaces a key with a new one of the same account.
//
// The old key's record is authoritative. A rotation writes its claim there and
// completes when the record names the new key; until then the old key works as
// before. If a claim makes no progress for a second, another rotation takes it
// over with a new secret, since the first secret may never have been shown. The
// first rotation then fails, and its key is removed.
//
// All functions throw std::bad_alloc, and then call no waiter. One operation at
// a time.
class KeyRotation {
public:
    // Much longer than a rotation, which takes milliseconds.
    static constexpr Monotonic kTakeOverAfter = 1000;

    // Borrows all but the id of the old key.
    KeyRotation(const KeyServers& servers, const Clock& clock, std::string id);

    // Claims the old key for `next`, whose id, digest, last4 and `created` must
    // be set. Copies the rest from the old key and stores `next`, unfinished.
    // nullopt: another rotation has a claim, so call it again soon. With the
    // stored `next` of an attempt that may have been interrupted, goes on where
    // that ended.
    void begin(StoredKey next, Waiter<std::optional<StoredKey>>& waiter);

    // Finishes `next`, which works from now on, and lets the old key expire in
    // `grace` seconds, unless it expires earlier anyway. Returns the old key's
    // record. Several attempts may do so with one `next`.
    void finish(StoredKey next, std::int64_t grace,
                Waiter<api::KeyRecord>& waiter);

    // Undoes begin().
    void abandon(StoredKey next, Waiter<Done>& waiter);

    // The claim of another rotation, and since when it is watched.
    struct Watched {
        std::string successors;
        Monotonic since = 0;
    };

private:
    const KeyServers servers_;
    const Clock& clock_;
    const std::string id_;
    Watched watched_;
    Operations running_;
};

}  // namespace petstore::store
