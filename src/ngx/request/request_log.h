#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/request_log.h"
#include "../worker/store_log.h"

namespace petstore::ngx {

// Writes to the error log of the connection, which nginx keeps longer than its
// requests.
class RequestLog final : public service::RequestLog {
public:
    explicit RequestLog(const ngx_http_request_t* r) noexcept
        : connection_(*r->connection)
    {}

    // Not to the connection's log, which would name a request: it may be gone.
    void exception(const char* what) noexcept override
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "petstore: %s", what);
    }

    void dry_run(const store::Account* account) noexcept override
    {
        if (account == nullptr) {
            ngx_log_error(NGX_LOG_NOTICE, connection_.log, 0,
                          "petstore: address over its limit, dry run");
            return;
        }
        ngx_log_error(NGX_LOG_NOTICE, connection_.log, 0,
                      "petstore: account %*s over its limit, dry run",
                      account->id().size(), account->id().data());
    }

    void account_banned(const store::Account& account,
                        const store::AccountStatus& status) noexcept override
    {
        log_ban(*connection_.log, account, status);
    }

private:
    const ngx_connection_t& connection_;
};

}  // namespace petstore::ngx
