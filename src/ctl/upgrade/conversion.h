#pragma once

#include <vector>

#include "../../api/account.h"
#include "../../api/date.h"
#include "../../api/key.h"

namespace petstore::ctl {

// How plans and limits of format 1, which every key had for itself, become
// those of accounts: for `upgrade`, and for `key restore` of exports of
// format 1.

// A key of format 1 without a plan had the plan free. In format 2 it would have
// its account's.
void name_plan(api::KeyRecord& key);

// The account of these keys, of which there is at least one: plan, numbers and
// label are those of the newest usable key, or if none is, of the newest.
api::AccountRecord account_of(const std::vector<const api::KeyRecord*>& keys,
                              api::UnixTime now);

// Whether the key needs no plan and numbers of its own, because its account's
// are the same. They would hide later changes of the account.
bool follows(const api::OwnPlan& key, const api::OwnPlan& account) noexcept;

}  // namespace petstore::ctl
