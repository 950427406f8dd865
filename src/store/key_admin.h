#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../api/digest.h"
#include "../api/key.h"
#include "../resp/command.h"
#include "../resp/reply.h"
#include "keys.h"
#include "schema.h"

namespace petstore::store {

// A key's record as the command line sees it: with what the workers ignore.
struct StoredKey {
    StoredKey() = default;
    explicit StoredKey(const api::Digest& of) : digest(of) {}

    api::Digest digest = {};
    api::KeyRecord record;

    // Stored, but not yet shown to anybody or enabled. Redis drops the record
    // after a day.
    bool unfinished = false;

    // The keys that unfinished rotations were to replace this one by, the
    // current claim first: "<id>:<digest in hex>", separated by spaces.
    std::string successors;
};

// Commands that change key records, each of them one Redis key. An epoch is the
// record's version: a write names the epoch that was read, and fails where
// another write came between. Builds commands, sends nothing.
class KeyAdmin {
public:
    explicit KeyAdmin(const Schema& schema) : schema_(schema) {}

    resp::Command read(const api::Digest& digest) const;
    static Keys::Found::Result parse(const resp::Reply& reply, StoredKey& key);

    // Replies with the record's new epoch, or with 0 where it was not written.
    // Without `seen` there must be no record yet.
    resp::Command write(const StoredKey& key, std::optional<std::int64_t> seen,
                        bool eval) const;

    // Replies with 0 where the record was changed after `key` was written.
    resp::Command remove(const StoredKey& key, bool eval) const;

private:
    const Schema& schema_;
};

}  // namespace petstore::store
