#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/date.h"
#include "../../api/digest.h"
#include "../accounts/account_administration.h"
#include "../command_runner.h"
#include "../schema.h"
#include "stored_key.h"

namespace petstore::store {

// Changes the API keys in Redis, for `petstorectl key`.
//
// A change is one write of the record, then a new epoch of the account, which
// makes the workers read the record again. A key's record, its index entry and
// its account may be on different servers, so no step covers two of them. An
// operation may be killed between any two steps; repeating it completes it. The
// record is authoritative: an index entry without a record is not a key.
//
// Throws AdministrationError.
class KeyAdministration {
public:
    // `accounts` may be on another Redis than the records.
    KeyAdministration(CommandRunner& redis, CommandRunner& accounts,
                      const Schema& schema)
        : redis_(redis), schema_(schema), commands_(schema),
          accounts_(accounts, schema)
    {}

    // By the clock that decides when a key expires.
    api::UnixTime now() { return accounts_.now(); }

    StoredKey find(std::string_view id);  // throws if there is none
    std::optional<StoredKey> look(std::string_view id);
    std::optional<StoredKey> look(const api::Digest& digest);

    struct Listing {
        std::vector<StoredKey> keys;  // oldest first
        // Ids of the index that are not in `keys`: their entry leads to no
        // record, the record is damaged, or the entry itself is.
        std::vector<std::string> missing;
        std::vector<std::string> damaged;
        std::set<std::string> damaged_entries;
        // Ids whose record is on a server of a Cluster that is away.
        std::vector<std::string> unread;
    };
    Listing list();

    // Stores a new key, still disabled, and adds it to the index. If an earlier
    // attempt with the same secret was interrupted, `key` gets its id and
    // account. Refuses a key that exists.
    void begin(StoredKey& key);

    // Enables a key that begin() has stored. Needs no new epoch, because no
    // worker can have cached the key. False if the key has been changed or
    // removed.
    bool enable(StoredKey& key);

    // Adds a key from a backup, with its id, account and other properties.
    // False if it exists already; it then stays as it is. Refuses an id that
    // another key has.
    bool restore(StoredKey key);

    // Removes a key that begin() has stored.
    void discard(std::string_view id, const api::Digest& digest);

    // Applies `change` to the record, puts it into effect and returns the
    // record. Calls `change` again if another write was faster.
    using Change = std::function<void(api::KeyRecord&)>;
    api::KeyRecord update(std::string_view id, const Change& change);

    void remove(std::string_view id);

    // Writes the record and sets its epoch, unless the record has changed since
    // it was read. Takes effect with announce().
    bool write(StoredKey& key);

    // Makes all workers read the account's records again. `written` is the
    // epoch of the changed record, 0 if none.
    void announce(std::string_view account, std::int64_t written);

    // Returns whether the account was banned.
    bool unban(std::string_view account);

    AccountUsage usage(std::string_view account)
    {
        return accounts_.usage(account);
    }

private:
    std::optional<api::Digest> indexed(std::string_view id);
    KeyCommands::Found::Result read(StoredKey& key);  // by its digest
    bool write(StoredKey& key, std::optional<std::int64_t> seen);
    void remove_record(std::string_view id, const api::Digest& digest);

    CommandRunner& redis_;
    const Schema& schema_;
    StoredKeyCommands commands_;
    AccountAdministration accounts_;
};

}  // namespace petstore::store
