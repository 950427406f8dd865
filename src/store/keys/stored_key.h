#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/digest.h"
#include "../../api/key.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../schema.h"
#include "key_commands.h"

namespace petstore::store {

// A key's record with the fields that only administration uses.
struct StoredKey {
    StoredKey() = default;
    explicit StoredKey(const api::Digest& of) : digest(of) {}

    api::Digest digest = {};
    api::KeyRecord record;

    // Stored, but neither shown nor enabled yet, so Redis has it as disabled,
    // whatever `record` says. Redis deletes the record after a day.
    bool unfinished = false;

    // The replacement keys of interrupted rotations, the current claim first;
    // see parse_successors().
    std::string successors;
};

// Gives a key a new secret, and returns it: it is not stored. Throws
// std::runtime_error if OpenSSL has no random numbers.
std::string give_secret(StoredKey& key, std::string_view prefix);

// Sets the digest and the last characters of a key that its owner has.
void set_secret(StoredKey& key, std::string_view secret);

// Builds the commands that change a key record, and parses their replies. Each
// names one Redis key. Writes are optimistic: the epoch is the version of the
// record, and a write fails unless the record still has the epoch that was
// read. Sends nothing.
class StoredKeyCommands {
public:
    explicit StoredKeyCommands(const Schema& schema) : schema_(schema) {}

    redis::Command read(const api::Digest& digest) const;
    static RecordFound parse(const redis::Reply& reply, StoredKey& key);

    // Reply: the record's new epoch, or 0 if it was not written. Without `seen`
    // the record must not exist yet.
    redis::Command write(const StoredKey& key,
                         std::optional<std::int64_t> seen) const;

    // Reply: 0 if the record was changed after `key` was written.
    redis::Command remove(const StoredKey& key) const;

private:
    const Schema& schema_;
};

}  // namespace petstore::store
