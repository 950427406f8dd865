#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../api/digest.h"
#include "../api/key.h"
#include "../api/limit.h"
#include "../store/keys.h"
#include "../store/schema.h"
#include "redis_session.h"

namespace petstore::ctl {

struct StoredKey {
    api::Digest digest;
    api::KeyRecord record;
};

// What an account has used up and how it stands.
struct AccountUsage {
    struct Counter {
        std::int64_t used = 0;
        api::Millis reset = 0;  // 0: no window is open
    };
    Counter minute;
    Counter day;
    std::int64_t strikes = 0;
    std::int64_t bans = 0;
    api::Millis banned_until = 0;  // 0: no ban
};

// The API keys in Redis, as the operator changes them. Records are written
// first and the account touched after, so that a worker that reads in between
// reads again. Throws Failure.
class KeyStore {
public:
    KeyStore(RedisSession& redis, const store::Schema& schema)
        : redis_(redis), schema_(schema), keys_(schema)
    {}

    api::UnixTime now();  // of Redis's clock

    StoredKey find(std::string_view id);
    std::vector<StoredKey> list();  // oldest first

    // Refuses a key whose digest is there already.
    void add(const StoredKey& key);

    // Changes the record by `change`, announces that and returns the record. It
    // is read again when someone else changed it meanwhile, so `change` may be
    // called repeatedly.
    using Change = std::function<void(api::KeyRecord&)>;
    api::KeyRecord update(std::string_view id, const Change& change);

    // Removes the key, with its account if that has no other key.
    void remove(std::string_view id);

    AccountUsage usage(std::string_view account);

    // Whether a ban was running.
    bool unban(std::string_view account);

private:
    // Gives the account a new epoch, which is returned.
    std::int64_t touch(std::string_view account);

    // Makes all workers read the records of the account again.
    void announce(std::string_view account);
    std::optional<api::Digest> indexed(std::string_view id);
    api::Digest digest_of(std::string_view id);
    std::optional<api::KeyRecord> change_record(const api::Digest& digest,
                                                const Change& change);
    void remove_record(const api::Digest& digest, std::string_view id,
                       std::string_view account);

    RedisSession& redis_;
    const store::Schema& schema_;
    store::Keys keys_;
};

}  // namespace petstore::ctl
