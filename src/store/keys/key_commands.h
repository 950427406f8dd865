#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/digest.h"
#include "../../api/key.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../record_fields.h"
#include "../schema.h"

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

// The replacement key of an interrupted rotation. A record has one or more, as
// "<id>:<digest in hex>", separated by spaces.
struct Successor {
    std::string id;
    api::Digest digest;
};
// nullopt if one is invalid.
std::optional<std::vector<Successor>> parse_successors(std::string_view text);

// Builds the commands for the record of a key, and parses their replies. Each
// names one Redis key. Sends nothing.
class KeyCommands {
public:
    explicit KeyCommands(const Schema& schema) : schema_(schema) {}

    std::string name(const api::Digest& digest) const;
    redis::Command read(const api::Digest& digest) const;  // HGETALL

    // Replaces all of `key` but its digest. `invalid` also if id or account is
    // missing. The record then has the valid fields, so that its account is
    // known. A label is never invalid, so escape it where it is shown.
    static RecordFound parse(const redis::Reply& reply, StoredKey& key);

    // For administration: optimistic. The epoch is the version of the record,
    // which is not written unless it still has the epoch that was read, `seen`;
    // without that, unless it does not exist yet. Reply: the record's new
    // epoch, or 0 if it was not written.
    redis::Command write(const StoredKey& key,
                         std::optional<std::int64_t> seen) const;

    // Reply: 0 if the record was changed after `key` was written.
    redis::Command remove(const StoredKey& key) const;

private:
    const Schema& schema_;
};

}  // namespace petstore::store
