#pragma once

#include <string>

#include "../store_links.h"
#include "../task.h"

// External ids: one Redis key for each names the account that has it. It is
// only a claim: it counts if the record of that account has the external id,
// and if not, another account may take it over. So an interrupted operation
// leaves nothing that must be repaired.

namespace petstore::store {

Failed external_id_taken();

// The account that an external id names; empty for none. Only its record says
// whether it has it.
Task<std::string> read_claim(const StoreLinks& links,
                             const std::string& external_id);

// Claims an external id for an account, before its record is written. Refuses
// one that another account has (external_id_taken).
Task<> claim_external_id(const StoreLinks& links,
                         const std::string& external_id,
                         const std::string& account);

// Call after the record was written. Claims the external id again, because
// another account may have taken the claim over. False if that account's record
// was written, too: this account must then give the external id up.
Task<bool> confirm_external_id(const StoreLinks& links,
                               const std::string& external_id,
                               const std::string& account);

// Frees an external id, if the account has the claim.
Task<> release_external_id(const StoreLinks& links,
                           const std::string& external_id,
                           const std::string& account);

}  // namespace petstore::store
