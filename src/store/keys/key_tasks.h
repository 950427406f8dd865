#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../accounts/account_tasks.h"
#include "key_commands.h"
#include "key_listing.h"

// What operations do with keys.
//
// A change is one write of the record, then a new epoch of the account, which
// makes the workers read the record again. A key's record, its index entry and
// its account may be on different servers, so no command covers two of them.

namespace petstore::store {

// The digest of the key that has this id, according to the index; nullopt if it
// has no entry.
Task<std::optional<api::Digest>> read_index(const StoreLinks& links,
                                            const std::string& id);

// Reads the record of key.digest into `key`.
Task<RecordFound> read_record(const StoreLinks& links, StoredKey& key);

Failed unknown_key();
Failed key_exists(std::string message);
Failed overtaken(std::string message);

// Writes the record and sets its epoch, unless the record has changed since it
// was read as `seen`, or exists, without `seen`: then returns false. Takes
// effect with announce().
Task<bool> write(const StoreLinks& links, StoredKey& key,
                 std::optional<std::int64_t> seen);

// Writes a record that was read, and announces it. False if it has changed.
Task<bool> write_and_announce(const StoreLinks& links, StoredKey& key);

// Adds a member to a set or removes it, or a field of a hash; an empty value is
// none.
Task<> change_entry(const StoreLinks& links, const char* verb, std::string key,
                    std::string member, std::string value);

// Writes the key's entry in the index.
Task<> index_key(const StoreLinks& links, const StoredKey& key);

// The account of a new key.
enum class KeyOwner {
    new_account,  // gets the key's plan, numbers and label, and is deleted with
                  // its last key
    existing,     // is not deleted with its last key from now on
    unchanged     // stays as it is: a key of it is rotated or restored
};

// Whether an attempt of the same request has stored the key before.
enum class Storing { first, repeated };

// Stores a new key, still unfinished, and adds it to the indexes. Replaces what
// an interrupted attempt with the same secret has left, and deletes its
// account. A key that exists is refused, unless it has this id: then another
// attempt of the same request has finished it, and `key` becomes that one. A
// repeated attempt whose key is gone is refused as overtaken: it was removed.
Task<> store_unfinished(const StoreLinks& links, StoredKey& key, KeyOwner owner,
                        Storing storing);

// Completes what the account of a stored key may lack of it: after an
// interruption of the above, or a loss of data. Refuses an account that does
// not exist.
Task<> add_to_account(const StoreLinks& links, const StoredKey& key);

// Finishes a key that was stored so: it works from now on, unless
// record.disabled. nullopt if the key was changed or removed; that another
// attempt of the same request has finished it is fine. Workers accept it
// without announce(), because none can have cached its record. After announce()
// with what this returns, each reads the record only once.
Task<std::optional<WrittenEpoch>> finish(const StoreLinks& links,
                                         StoredKey& key);

// Removes the entries of a new key in the indexes, whose record another command
// has replaced or removed. An attempt of the same request may store it again
// meanwhile; then it keeps them, or gets them back.
Task<> remove_entries(const StoreLinks& links, const StoredKey& key);

// Removes the account if it came into being with a key and has none but
// `except`. A damaged account stays. False if it stays.
Task<bool> remove_unused(const StoreLinks& links, const std::string& account,
                         const std::string& except);

// Removes a key's entry in its account, and the account, unless that is
// damaged, if it came into being with a key and this is the last.
Task<> leave_account(const StoreLinks& links, const std::string& account,
                     const std::string& id);

// Removes a key, and its account if that came into being with a key and this is
// the last. Disables it everywhere before deleting its record: only the record
// names the account to touch, and workers may have it cached. Ends rotations of
// the key that are not complete, and removes their new keys.
Task<> discard(const StoreLinks& links, const std::string& id,
               const api::Digest& digest);

// Puts the claim of a rotation or a deletion before those that the key has.
void enter_claim(StoredKey& key, std::string claim);

// Whether a deletion of the key has begun. It may have been interrupted.
bool is_being_deleted(const StoredKey& key);

// The key is enabled again since its deletion was interrupted. False if none
// has begun.
bool forget_deletion(StoredKey& key);

// The new keys of rotations that are not complete, the current one first.
std::vector<Successor> successors_of(const StoredKey& key);

// As discard(), for a new key that is still unfinished. A finished one stays:
// it may be the result of another attempt. Returns whether it removed the
// record.
Task<bool> discard_unfinished(const StoreLinks& links, const StoredKey& key);

// For lists: in a Cluster, waiting once for a server that is away is enough.
class ServersAway {
public:
    bool is_away(const StoreLinks& links, const std::string& key) const;
    // Whether the server of this Redis key is away, according to a failure.
    bool take(const StoreLinks& links, const std::string& key,
              const Failed& failed);

private:
    std::set<std::size_t> away_;  // groups of servers, see Link::group_of()
};

}  // namespace petstore::store
