#pragma once

#include "../store/accounts/denial_reporter.h"

namespace petstore::service {

// The log of one request. Remains usable after the request has ended.
class RequestLog : public store::BanLog {
public:
    virtual void exception(const char* what) noexcept = 0;

    // A dry run would have refused the request because of this account's
    // limits, or with nullptr, because of the limit of the client's address.
    virtual void dry_run(const store::Account* account) noexcept = 0;

protected:
    ~RequestLog() = default;
};

}  // namespace petstore::service
