#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../clock.h"
#include "../store_links.h"
#include "../task.h"
#include "key_commands.h"

// Replaces a key with a new one of the same account.
//
// The old key's record is authoritative. A rotation writes its claim there and
// completes when the record names the new key; until then the old key works as
// before. If a claim makes no progress for a second, another rotation takes it
// over with a new secret, since the first secret may never have been shown. The
// first rotation then fails, and its key is removed. A deletion of the old key
// takes over any claim at once, see discard(), and no rotation takes over its.

namespace petstore::store {

// The claim of another rotation, and since when a rotation has seen it.
struct WatchedClaim {
    // Much longer than a rotation, which takes milliseconds.
    static constexpr Monotonic kTakeOverAfter = 1000;

    std::string successors;
    Monotonic since = 0;
};

// Claims the old key, whose id is `id`, for `next`, whose id, digest, last4 and
// `created` must be set. Copies the rest from the old key and stores `next`,
// unfinished. nullopt: another rotation has a claim, so call it again soon,
// with the same `watched`. With the stored `next` of an attempt that may have
// been interrupted, goes on where that ended. Borrows `clock` and `watched`.
Task<std::optional<StoredKey>> begin_rotation(StoreLinks links, std::string id,
                                              StoredKey next,
                                              const Clock& clock,
                                              WatchedClaim& watched);

// Finishes `next`, which works from now on, and lets the old key expire in
// `grace` seconds, unless it expires earlier anyway. Returns the old key's
// record. Several attempts may do so with one `next`. What was changed of the
// old key meanwhile is changed of `next`, too. Borrows it.
Task<api::KeyRecord> finish_rotation(StoreLinks links, std::string id,
                                     StoredKey& next, std::int64_t grace);

// Undoes begin_rotation().
Task<> abandon_rotation(StoreLinks links, std::string id, StoredKey next);

}  // namespace petstore::store
