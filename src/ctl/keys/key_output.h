#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../../api/account.h"
#include "../../api/plan.h"
#include "../../store/accounts/account_listing.h"
#include "../../store/keys/key_commands.h"
#include "../../store/keys/key_listing.h"
#include "../command_line/context.h"
#include "../terminal/output.h"

namespace petstore::ctl {

// A key with what decides how it is shown.
struct ShownKey {
    store::StoredKey key;
    api::AccountRecord account;
};

// Reads the key and its account, or the account alone.
ShownKey shown_key(Context& context, const store::StoreLinks& links,
                   const std::string& id);
ShownKey shown_key(Context& context, const store::StoreLinks& links,
                   store::StoredKey key);

// Moves the keys of the listing, each with its account. A key whose account's
// record is missing or damaged has an empty one that is disabled, and one whose
// account is among the unread ones becomes an unread key.
std::vector<ShownKey> shown_keys(store::KeyListing& listing,
                                 const store::AccountListing& accounts);

// Adds the accounts of keys that the index of accounts lacks. Returns the ids
// of those that do not exist, which are then not among all.missing. Removes the
// keys that were deleted, with their accounts, since they were listed.
std::vector<std::string> add_unlisted(Context& context,
                                      const store::StoreLinks& links,
                                      store::KeyListing& listing,
                                      store::AccountListing& all);

// Leaves out what is no gap: an account may be deleted before its key, a key
// before its entry in the index, and an account has an entry before it has a
// record. Waits for such commands. `missing`: what add_unlisted() returned.
void forget_unfinished(Context& context, const store::StoreLinks& links,
                       store::KeyListing& listing, store::AccountListing& all,
                       std::vector<std::string>& missing);

// `secret`: the key itself, for a new key only. `now`: for its state.
Json json_of(const ShownKey& shown, const api::PlanTable& plans,
             api::UnixTime now, std::string_view secret = {});

std::string_view state_of(const ShownKey& shown, api::UnixTime now) noexcept;

// For people.
void print_key(const ShownKey& shown, const api::PlanTable& plans,
               api::UnixTime now);
void print_keys(const std::vector<ShownKey>& keys, const api::PlanTable& plans,
                api::UnixTime now);

}  // namespace petstore::ctl
