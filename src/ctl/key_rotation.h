#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "key_store.h"

namespace petstore::ctl {

// Replaces a key by a new one of the same account.
//
// The old key's record decides. A rotation writes its claim there and is over
// when the record names the key that replaced it. Until then the old key works
// as before. A claim whose owner does nothing for a moment is taken over, with
// a new secret, since the other one may never have been shown; what the first
// owner does after that fails, and its key is removed.
//
// Throws Failure.
class Rotation {
public:
    Rotation(KeyStore& store, std::string id)
        : store_(store), id_(std::move(id))
    {}

    // Claims the old key for `next`, of which id, digest, last4 and `created`
    // are set, and stores `next` with the rest taken from the old key. It does
    // not work yet.
    void begin(StoredKey& next);

    // Makes `next` work and ends the old key in `grace` seconds, or when it
    // would have ended anyway. Returns the old key's record.
    api::KeyRecord finish(StoredKey& next, std::int64_t grace);

    // Takes begin() back.
    void abandon(const StoredKey& next);

private:
    struct Successor {
        std::string id;
        api::Digest digest;
    };

    static std::vector<Successor> parse(std::string_view successors);
    static bool is_claimed(const StoredKey& old, const StoredKey& next);
    void check(const StoredKey& old);
    std::vector<Successor> claim(StoredKey& next);
    [[noreturn]] void displaced(const StoredKey& next);

    KeyStore& store_;
    const std::string id_;
};

}  // namespace petstore::ctl
