#include "store_log.h"

#include "../../ngx_base/str.h"
#include "../monitoring/metrics.h"
#include "worker.h"

namespace petstore::ngx {

// Logs at most once per second, because every request that needs the data
// reports the damage.
void StoreLog::damaged(std::string_view redis_key) noexcept
{
    metrics_.damaged_data().add();
    if (!damage_.due()) {
        ++damages_;
        return;
    }
    ngx_str_t name = ngx_base::borrow(redis_key);
    if (damages_ == 0) {
        ngx_log_error(NGX_LOG_ERR, &log_, 0,
                      "petstore: the Redis key %V is damaged", &name);
    } else {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: the Redis key %V is damaged, %ui reports of damage since the last line",
            &name, damages_);
    }
    damages_ = 0;
}

void StoreLog::unknown_plan(std::string_view key,
                            std::string_view plan) noexcept
{
    ngx_log_error(
        NGX_LOG_ERR, &log_, 0,
        "petstore: key %*s has the unknown plan \"%*s\", which counts as \"free\"",
        key.size(), key.data(), plan.size(), plan.data());
}

void StoreLog::not_upgraded(std::string_view account) noexcept
{
    if (not_upgraded_.due()) {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: account %*s has no record: stop nginx on all hosts and run \"petstorectl upgrade\"",
            account.size(), account.data());
    }
}

void StoreLog::refuse(Refusals& refusals, const char* format) noexcept
{
    ++refusals.count;
    if (!refusals.line.due()) {
        return;
    }
    ngx_log_error(NGX_LOG_WARN, &log_, 0, format, refusals.count);
    refusals.count = 0;
}

// A flood of invented keys must not fill the log.
void StoreLog::lookup_refused() noexcept
{
    servers_.catalogue.rejections.add();
    refuse(
        lookups_,
        "petstore: %ui lookups of unknown keys refused: too many in progress");
}

void StoreLog::request_refused() noexcept
{
    servers_.accounts.rejections.add();
    refuse(requests_,
           "petstore: %ui requests refused: too many waiting for Redis");
}

void StoreLog::unexpected_limiter_reply() noexcept
{
    if (unexpected_.due()) {
        ngx_log_error(NGX_LOG_ERR, &log_, 0,
                      "petstore: unexpected reply of Redis to the limiter");
    }
}

void StoreLog::limits_elsewhere() noexcept
{
    if (elsewhere_.due()) {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: the counters were moved to another Redis, see \"petstore_limit_redis\"");
    }
}

void StoreLog::foreign_limits(bool foreign) noexcept
{
    if (foreign) {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: the Redis of \"petstore_limit_redis\" has the limits of another store, requests are refused: see \"petstorectl doctor\"");
    } else {
        ngx_log_error(
            NGX_LOG_NOTICE, &log_, 0,
            "petstore: the Redis of \"petstore_limit_redis\" has the limits of this store again");
    }
}

void StoreLog::limits_not_compared() noexcept
{
    ngx_log_error(
        NGX_LOG_WARN, &log_, 0,
        "petstore: the Redis user may not read the key limits-place (NOPERM): a limit Redis of another store will not be detected");
}

void StoreLog::usage_forbidden() noexcept
{
    ngx_log_error(
        NGX_LOG_ERR, &log_, 0,
        "petstore: this user may not read and write the usage of accounts (NOPERM): without the rules of docs/redis-keys.md, among them +hincrby, +hgetall and +pexpire, requests get 503 from the next day or month in UTC");
}

void StoreLog::plans_forbidden() noexcept
{
    ngx_log_error(
        NGX_LOG_WARN, &log_, 0,
        "petstore: this user may not read the plans in Redis (NOPERM): only those of the configuration apply");
}

void StoreLog::on_host_seen(const store::HostView& host) noexcept
{
    metrics_.add_host(host);
}

void StoreLog::plans_not_published(std::string_view error_code) noexcept
{
    // Its text is up to the server.
    u_char shown[32];
    ngx_str_t code = {0, shown};
    for (const char c : error_code.substr(0, sizeof(shown))) {
        shown[code.len++] =
            c > ' ' && c < '\x7f' ? static_cast<u_char>(c) : '?';
    }
    ngx_log_error(
        NGX_LOG_WARN, &log_, 0,
        "petstore: Redis refuses the plans that this host publishes (%V): petstorectl does not know them",
        &code);
}

void StoreLog::catalogue_full() noexcept
{
    if (full_.due()) {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: the catalogue is full, creates are refused: see \"petstorectl doctor\"");
    }
}

void StoreLog::account_banned(const store::Account& account,
                              const store::AccountStatus& status) noexcept
{
    log_ban(log_, account, status);
}

void log_ban(ngx_log_t& log, const store::Account& account,
             const store::AccountStatus& status) noexcept
{
    Worker::current()->metrics().bans().add();
    ngx_log_error(
        NGX_LOG_WARN, &log, 0,
        "petstore: account %*s banned for %L s after %L denied requests",
        account.id().size(), account.id().data(),
        (status.decision.ban_until - status.decision.now) / 1000,
        status.strikes);
}

}  // namespace petstore::ngx
