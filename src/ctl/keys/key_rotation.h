#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../store/keys/key_administration.h"

namespace petstore::ctl {

// Replaces a key with a new one of the same account.
//
// The old key's record is authoritative. A rotation writes its claim there and
// completes when the record names the new key; until then the old key works as
// before. If a claim makes no progress for a second, another rotation takes it
// over with a new secret, since the first secret may never have been shown. The
// first rotation then fails, and its key is removed.
//
// Throws Failure.
class Rotation {
public:
    Rotation(store::KeyAdministration& keys, std::string id)
        : keys_(keys), id_(std::move(id))
    {}

    // Claims the old key for `next`, whose id, digest, last4 and `created` must
    // be set. Copies the rest from the old key and stores `next`, still
    // disabled.
    void begin(store::StoredKey& next);

    // Enables `next` and lets the old key expire in `grace` seconds, unless it
    // expires earlier anyway. Returns the old key's record.
    api::KeyRecord finish(store::StoredKey& next, std::int64_t grace);

    // Undoes begin().
    void abandon(const store::StoredKey& next);

private:
    struct Successor {
        std::string id;
        api::Digest digest;
    };

    static std::vector<Successor> parse(std::string_view successors);
    static bool is_claimed(const store::StoredKey& old,
                           const store::StoredKey& next);
    void check(const store::StoredKey& old);
    std::vector<Successor> claim(store::StoredKey& next);
    [[noreturn]] void displaced(const store::StoredKey& next);

    store::KeyAdministration& keys_;
    const std::string id_;
};

}  // namespace petstore::ctl
