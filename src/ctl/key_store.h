#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../api/date.h"
#include "../api/digest.h"
#include "../store/key_admin.h"
#include "../store/schema.h"
#include "account_store.h"
#include "redis_session.h"

namespace petstore::ctl {

using store::StoredKey;

// The API keys in Redis, as an operator changes them.
//
// A change is one write of the record, then a new epoch of the account, which
// makes the workers read the record again. A key's record, its entry in the
// index and its account are on different servers at worst, so no step covers
// two of them: a command may be killed between any two, and works when it is
// run again. The record decides; an index entry without its record is no key.
//
// Throws Failure.
class KeyStore {
public:
    KeyStore(RedisSession& redis, const store::Schema& schema)
        : redis_(redis), schema_(schema), commands_(schema),
          accounts_(redis, schema)
    {}

    api::UnixTime now();  // of Redis's clock

    StoredKey find(std::string_view id);
    std::optional<StoredKey> look(std::string_view id);

    struct Listing {
        std::vector<StoredKey> keys;  // oldest first
        // Ids in the index whose record is missing or damaged.
        std::vector<std::string> missing;
        std::vector<std::string> damaged;
    };
    Listing list();

    // Stores and lists a new key that does not work yet. Where an earlier
    // attempt at the same secret was interrupted, `key` gets the id and account
    // of that one. Refuses a key that is there already.
    void begin(StoredKey& key);

    // Makes a key work that begin() has stored, without a new epoch: no worker
    // can remember it. False if somebody has changed or removed it since.
    bool enable(StoredKey& key);

    // Removes a key that begin() has stored.
    void discard(std::string_view id, const api::Digest& digest);

    // Changes the record by `change`, takes that into effect and returns the
    // record. `change` is called again where somebody else was faster.
    using Change = std::function<void(api::KeyRecord&)>;
    api::KeyRecord update(std::string_view id, const Change& change);

    void remove(std::string_view id);

    // Writes the record if it is still the one that was read, and sets its
    // epoch. Takes effect with announce().
    bool write(StoredKey& key);

    // Makes all workers read the records of the account again, of which one was
    // written with this epoch; 0 for none.
    void announce(std::string_view account, std::int64_t written);

    // Returns whether a ban was running.
    bool unban(std::string_view account);

    AccountUsage usage(std::string_view account)
    {
        return accounts_.usage(account);
    }

private:
    std::optional<api::Digest> indexed(std::string_view id);
    store::Keys::Found::Result read(StoredKey& key);  // by its digest
    bool write(StoredKey& key, std::optional<std::int64_t> seen);
    void remove_record(std::string_view id, const api::Digest& digest);

    RedisSession& redis_;
    const store::Schema& schema_;
    store::KeyAdmin commands_;
    AccountStore accounts_;
};

}  // namespace petstore::ctl
