#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "actors.h"
#include "e2e/support/store.h"

namespace petstore::e2e {

// The key that a request carries, which determines the possible outcomes.
enum class Role {
    good,         // not limited
    limited,      // kPerMinute requests per minute
    limited_too,  // another key of that account, with a lower limit
    reader,       // only the scope read
    toggled,      // repeatedly disabled and enabled
    expired,
    deleted,
    invented,  // in a form that requires a lookup
    malformed,
    none,
};

// Shared by all actors of a round: the keys, the locations, and what is true as
// long as Redis told no lie and lost no data.
class World {
public:
    static constexpr long long kPerMinute = 40;
    static constexpr int kPets = 2000;  // "pet 1" and so on, of 16 buckets

    World(const RedisServer& redis, Journal& journal);

    Journal& journal;

    // "Bearer …", or "" for no key.
    std::string authorization(Role role, Random& random) const;
    const Key& key(Role role) const { return keys_.at(role); }

    // Restores Redis's state from when the world was created. Later changes are
    // lost.
    void restore(const RedisServer& redis) const;

    // Begins a round. `honest`: no reply is a lie, and no data are lost.
    void begin_round(bool honest);
    bool honest() const noexcept { return honest_; }

    // Records what responses said. Returns a complaint, or "".
    std::string learn_created(long long id, const std::string& name,
                              const std::string& idempotency_key);
    std::string learn_seen(long long id, const std::string& name);
    void learn_admitted(Role role);

    // Cursors from responses, for all clients and rounds.
    void learn_cursor(const std::string& cursor);
    std::string cursor(Random& random) const;  // "" while there is none

    // The results of this round.
    std::map<long long, std::string> created() const;
    long long admitted() const;

private:
    std::map<Role, Key> keys_;
    std::vector<std::pair<std::string, std::string>> dump_;  // key and DUMP

    std::atomic<bool> honest_{true};
    mutable std::mutex mutex_;
    std::map<long long, std::string> created_;
    std::map<std::string, long long> idempotent_;
    long long admitted_ = 0;
    std::vector<std::string> cursors_;
};

}  // namespace petstore::e2e
