#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "chaos.h"
#include "store.h"

namespace petstore::e2e {

// Whose key a request carries, and so what may become of it.
enum class Role {
    good,         // as often as it likes
    limited,      // kPerMinute requests a minute
    limited_too,  // another key of that account, with a lower limit
    reader,       // scope read only
    toggled,      // disabled and enabled all the time
    expired,
    deleted,
    invented,  // of a form that has to be looked up
    malformed,
    none,
};

// What all actors of a round share: the keys, the locations, and what is true
// as long as Redis told no lie and lost no data.
class World {
public:
    static constexpr long long kPerMinute = 40;
    static constexpr int kPets = 2000;  // "pet 1" and so on, of 16 buckets

    World(const RedisServer& redis, Journal& journal);

    Journal& journal;

    // "Bearer …", "" for none.
    std::string authorization(Role role, Random& random) const;
    const Key& key(Role role) const { return keys_.at(role); }

    // Redis as it was when the world was made. Restoring loses everything
    // since.
    void restore(const RedisServer& redis) const;

    // A round begins. Honest: no reply is a lie, no data are lost.
    void begin_round(bool honest);
    bool honest() const noexcept { return honest_; }

    // What answers said. Complaints, "" for none.
    std::string learn_created(long long id, const std::string& name,
                              const std::string& idempotency_key);
    std::string learn_seen(long long id, const std::string& name);
    void learn_admitted(Role role);

    // Cursors that answers gave, for all clients and rounds.
    void learn_cursor(const std::string& cursor);
    std::string cursor(Random& random) const;  // "" while there is none

    // Of this round.
    std::map<long long, std::string> created() const;
    long long admitted() const;

private:
    std::map<Role, Key> keys_;
    std::vector<std::pair<std::string, std::string>> dump_;  // key, DUMP

    std::atomic<bool> honest_{true};
    mutable std::mutex mutex_;
    std::map<long long, std::string> created_;
    std::map<std::string, long long> idempotent_;
    long long admitted_ = 0;
    std::vector<std::string> cursors_;
};

}  // namespace petstore::e2e
