#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../api/digest.h"
#include "../api/pet.h"

namespace petstore::store {

// The names of all Redis keys; docs/redis-keys.md describes their values. Names
// are built from the prefix, digests and ids only. All keys of an account share
// the hash slot of {account}, all keys of the catalogue that of
// {<prefix>:pets}.
class Schema {
public:
    explicit Schema(std::string prefix);

    // nullptr if the prefix is valid, else the problem, worded to follow the
    // name of the option.
    static const char* prefix_problem(std::string_view prefix) noexcept;

    const std::string& prefix() const noexcept { return prefix_; }

    // hash: the record of an API key, by the SHA-256 of the key in hex
    std::string key_record(const api::Digest& digest) const;
    // hash: key id → digest in hex, for `petstorectl key list`
    std::string key_index() const;

    // string: whether the accounts are on this Redis, see docs/redis-keys.md
    std::string limits() const;
    static bool limits_elsewhere(std::string_view value) noexcept;
    // string, for some seconds: finds out whether two URLs name one database
    std::string limits_probe() const;

    // string, for some seconds: `petstorectl doctor` tries to write it
    std::string account_probe(std::string_view account) const;
    std::string catalogue_probe() const;

    // string, TTL: an AccountState
    std::string account_state(std::string_view account) const;
    std::string strikes(std::string_view account) const;  // string, TTL
    std::string bans(std::string_view account) const;     // string, TTL
    // The state while `petstorectl limits` moves it to another Redis.
    std::string moving_state(std::string_view account) const;

    // A pattern for SCAN that matches all keys of accounts, and the account and
    // last part of a name that it matches. nullopt for the catalogue's keys.
    std::string account_pattern() const;
    struct AccountKey {
        std::string_view account;
        std::string_view suffix;
    };
    std::optional<AccountKey>
    parse_account_key(std::string_view name) const noexcept;

    std::string last_pet_id() const;  // string: counter
    std::string changes() const;      // string: counter of changed pets
    std::string change_log() const;   // list, see pets/change_log.h
    std::string bucket(std::int64_t number) const;  // list, see pets/record.h
    std::string
    status_bitmap(api::Status status) const;  // string: bit = pet id
    // string, TTL: the result of the first create with this Idempotency-Key
    std::string idempotency(std::string_view account,
                            const api::Digest& key) const;

    // The prefix of all names of the catalogue. The scripts append
    // "bucket:<number>", as bucket() does.
    const std::string& catalogue() const noexcept { return catalogue_; }

private:
    std::string account(std::string_view account, const char* suffix) const;

    std::string prefix_;
    std::string catalogue_;  // "<prefix>:{<prefix>:pets}:"
};

}  // namespace petstore::store
