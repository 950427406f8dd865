#pragma once

#include <string>
#include <vector>

#include "../../api/usage.h"
#include "../index_page.h"
#include "../key_servers.h"
#include "../operations.h"
#include "../waiter.h"

namespace petstore::store {

struct UsageListing {
    std::vector<api::AccountUsage> accounts;  // in the order asked for
    std::vector<std::string> damaged;         // what is wrong with others
};

// Reads what accounts have used. Periods must be kept_at(today). Must stay
// alive until its operations have ended.
//
// All functions throw std::bad_alloc, and then call no waiter.
class UsageAdministration {
public:
    // Borrows what `servers` refers to.
    explicit UsageAdministration(const KeyServers& servers) noexcept
        : servers_(servers)
    {}

    // One account, which may have been deleted. Refuses an unknown id.
    void read(std::string account, const api::UsagePeriod& period,
              Waiter<api::AccountUsage>& waiter);

    // Several. Skips ids that no account has, or can have.
    void read(std::vector<std::string> accounts, const api::UsagePeriod& period,
              Waiter<UsageListing>& waiter);

    // The ids of all accounts, deleted ones included, oldest first.
    void accounts(Waiter<std::vector<std::string>>& waiter);

    // Their entries in the index, in pieces of at most `most`, in no order. The
    // names of damaged ones are no ids.
    void accounts(const api::ScanPlace& from, std::size_t most,
                  Waiter<IndexPage>& waiter);

private:
    const KeyServers servers_;
    Operations running_;
};

}  // namespace petstore::store
