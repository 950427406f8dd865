#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../api/digest.h"
#include "../api/pet.h"

namespace petstore::store {

// Every key name that we use in Redis, in one place; docs/redis-keys.md
// describes them. Names are built from our prefix, digests and ids only.
// All keys of an account share the hash slot of {account}, all keys of the
// catalogue that of {<prefix>:pets}.
class Schema {
public:
    explicit Schema(std::string prefix);

    // nullptr for a prefix that may be used, else what is wrong with it, worded
    // to follow its name.
    static const char* prefix_problem(std::string_view prefix) noexcept;

    const std::string& prefix() const noexcept { return prefix_; }

    // hash: the record of an API key, by the SHA-256 of the key in hex
    std::string key_record(const api::Digest& digest) const;
    // hash: key id → digest in hex, for the command line's list
    std::string key_index() const;

    // string, TTL: an AccountState
    std::string account_state(std::string_view account) const;
    std::string strikes(std::string_view account) const;  // string, TTL
    std::string bans(std::string_view account) const;     // string, TTL

    std::string last_pet_id() const;  // string: counter
    std::string changes() const;      // string: counter of changes of pets
    std::string bucket(std::int64_t number) const;  // list, see record.h
    std::string
    status_bitmap(api::Status status) const;  // string: bit = pet id
    // string with TTL: the first answer to an idempotent create
    std::string idempotency(std::string_view account,
                            const api::Digest& key) const;

    // What the bucket scripts append a bucket number to.
    const std::string& catalogue() const noexcept { return catalogue_; }

private:
    std::string account(std::string_view account, const char* suffix) const;

    std::string prefix_;
    std::string catalogue_;  // "<prefix>:{<prefix>:pets}:"
};

}  // namespace petstore::store
