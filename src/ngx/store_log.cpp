#include "store_log.h"

namespace petstore::ngx {

void StoreLog::damaged_key_record(const api::Digest&) noexcept
{
    ngx_log_error(NGX_LOG_ERR, &log_, 0,
                  "petstore: a key record in Redis is damaged");
}

void StoreLog::unknown_plan(const api::KeyRecord& record) noexcept
{
    ngx_log_error(NGX_LOG_ERR, &log_, 0,
                  "petstore: key %s has the unknown plan \"%s\", which "
                  "counts as \"free\"",
                  record.id.c_str(), record.plan.c_str());
}

// A flood of invented keys must not fill the log.
void StoreLog::look_up_refused() noexcept
{
    ++refused_;
    if (refused_logged_ == ngx_time()) {
        return;
    }
    refused_logged_ = ngx_time();
    ngx_log_error(NGX_LOG_WARN, &log_, 0,
                  "petstore: %ui look-ups of unknown keys refused, too many "
                  "at once",
                  refused_);
    refused_ = 0;
}

}  // namespace petstore::ngx
