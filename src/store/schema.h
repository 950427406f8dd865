#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../api/digest.h"
#include "../api/pet.h"

namespace petstore::store {

// The names of the keys of an account. All share the hash slot of {account}.
class AccountNames {
public:
    explicit AccountNames(std::string prefix) : prefix_(std::move(prefix)) {}

    const std::string& prefix() const noexcept { return prefix_; }

    // string, TTL: an AccountState
    std::string account_state(std::string_view account) const;
    std::string strikes(std::string_view account) const;  // string, TTL
    std::string bans(std::string_view account) const;     // string, TTL
    // hash, TTL: units admitted and requests denied on each day of a month in
    // UTC (January is 1)
    std::string usage(std::string_view account, int year, int month) const;
    // The state while `petstorectl limits` moves it to another Redis.
    std::string moving_state(std::string_view account) const;
    // string, for some seconds: `petstorectl doctor` tries to write it
    std::string account_probe(std::string_view account) const;

    // A pattern for SCAN that matches all keys of accounts, and those of the
    // catalogue.
    std::string account_pattern() const { return prefix_ + ":{*}:*"; }

private:
    std::string account(std::string_view account, const char* suffix) const;

    std::string prefix_;
};

// The names of the keys of the catalogue. All share the hash slot of
// {<prefix>:pets}.
class CatalogueNames {
public:
    explicit CatalogueNames(const std::string& prefix);

    // string: positions given to pets
    std::string pet_count() const { return catalogue_ + "count"; }
    // string, see pets/pet_ids.h
    std::string segments() const { return catalogue_ + "segments"; }
    // string: a word; versions that know only format 1 expect a number, and
    // fail
    std::string pet_fence() const { return catalogue_ + "last-id"; }
    // string: counter of changed pets
    std::string changes() const { return catalogue_ + "changes"; }
    // list, see pets/change_log.h
    std::string change_log() const { return catalogue_ + "change-log"; }
    std::string bucket(std::int64_t number) const;  // list, see pets/record.h
    std::string
    status_bitmap(api::Status status) const;  // string: bit = position
    // string, TTL: the result of the first create with this Idempotency-Key
    std::string idempotency(std::string_view account,
                            const api::Digest& key) const;
    // as account_probe()
    std::string catalogue_probe() const { return catalogue_ + "probe"; }

    // The prefix of all names of the catalogue. The scripts append the rest, as
    // the functions above do.
    const std::string& catalogue() const noexcept { return catalogue_; }

private:
    std::string catalogue_;  // "<prefix>:{<prefix>:pets}:"
};

// The names of all Redis keys; docs/redis-keys.md describes their values. Names
// are built from the prefix, digests and ids only.
class Schema : public AccountNames, public CatalogueNames {
public:
    explicit Schema(const std::string& prefix)
        : AccountNames(prefix), CatalogueNames(prefix)
    {}

    // nullptr if the prefix is valid, else the problem, worded to follow the
    // name of the option.
    static const char* prefix_problem(std::string_view prefix) noexcept;

    // hash: the record of an API key, by the SHA-256 of the key in hex
    std::string key_record(const api::Digest& digest) const;
    // hash: key id → digest in hex, for lists of keys
    std::string key_index() const { return prefix() + ":keys"; }

    // hash: the record of an account
    std::string account_record(std::string_view account) const;
    // hash: account id → times of creation and deletion, for lists of accounts
    std::string account_index() const { return prefix() + ":accounts"; }
    // set: the ids of an account's keys
    std::string account_keys(std::string_view account) const;
    // string: the id of the account with this external id
    std::string external_id(std::string_view external_id) const;

    // string, TTL: a request of this account to the admin API, by the SHA-256
    // of its Idempotency-Key; see admin_claim.h
    std::string admin_request(std::string_view account,
                              const api::Digest& key) const;

    // hash: plan → limits
    std::string plans() const { return prefix() + ":plans"; }
    // hash: host → the plans it is configured with
    std::string hosts() const { return prefix() + ":hosts"; }

    // string: keeps versions that only know format 1 from working on this Redis
    std::string limits_fence() const { return prefix() + ":limits"; }
    // string: whether the accounts are on this Redis, see
    // accounts/marked_limits.h. Scripts also build this name, from that of an
    // account's key.
    std::string limits_marker() const { return prefix() + ":limits-place"; }
    // string, for some seconds: finds out whether two URLs name one database
    std::string limits_probe() const { return prefix() + ":limits-probe"; }

    // The account and last part of a name that account_pattern() matches.
    // nullopt for the catalogue's keys.
    struct AccountKey {
        std::string_view account;
        std::string_view suffix;
    };
    std::optional<AccountKey>
    parse_account_key(std::string_view name) const noexcept;
};

}  // namespace petstore::store
