#include "store_log.h"

#include <iterator>

#include "../../ngx_base/str.h"
#include "../monitoring/metrics.h"
#include "worker.h"

namespace petstore::ngx {

namespace {

struct EventLine {
    store::Event event;
    ngx_uint_t level;
    bool throttled;  // to one per second: each request may report it
    // Shows the number of reports since the last line if it has %ui.
    const char* text;
};

// In the order of store::Event.
constexpr EventLine kEventLines[] = {
    {store::Event::catalogue_full, NGX_LOG_ERR, true,
     "petstore: the catalogue is full, creates are refused: see \"petstorectl doctor\""},
    {store::Event::lookup_refused, NGX_LOG_WARN, true,
     "petstore: %ui lookups of keys refused: too many in progress"},
    {store::Event::request_refused, NGX_LOG_WARN, true,
     "petstore: %ui requests refused: too many waiting for Redis"},
    {store::Event::unexpected_limiter_reply, NGX_LOG_ERR, true,
     "petstore: unexpected reply of Redis to the limiter"},
    {store::Event::changed_too_often, NGX_LOG_ERR, true,
     "petstore: %ui requests refused: their accounts changed each time that they were read"},
    {store::Event::limits_elsewhere, NGX_LOG_ERR, true,
     "petstore: the counters were moved to another Redis, by \"petstorectl limits move\" (see \"petstore_limit_redis\") or, with the whole store, by \"petstorectl move\" (see \"petstore_redis\")"},
    {store::Event::foreign_limits, NGX_LOG_ERR, false,
     "petstore: the Redis of \"petstore_limit_redis\" has the limits of another store, requests are refused: see \"petstorectl doctor\""},
    {store::Event::own_limits, NGX_LOG_NOTICE, false,
     "petstore: the Redis of \"petstore_limit_redis\" has the limits of this store again"},
    {store::Event::limits_not_compared, NGX_LOG_WARN, false,
     "petstore: the Redis user may not read the key limits-place (NOPERM): a limit Redis of another store will not be detected"},
    {store::Event::plans_forbidden, NGX_LOG_WARN, false,
     "petstore: this user may not read the plans in Redis (NOPERM): only those of the configuration apply"},
    {store::Event::usage_forbidden, NGX_LOG_ERR, false,
     "petstore: this user may not read and write the usage of accounts (NOPERM): without the rules of docs/redis-keys.md, among them +hincrby, +hgetall and +pexpire, requests get 503 from the next day or month in UTC"},
};
static_assert(std::size(kEventLines) == store::kEvents);
static_assert([] {
    for (std::size_t i = 0; i < store::kEvents; ++i) {
        if (kEventLines[i].event != static_cast<store::Event>(i)) {
            return false;
        }
    }
    return true;
}());

}  // namespace

// Logs at most once per second, because every request that needs the data
// reports the damage.
void StoreLog::damaged(std::string_view redis_key) noexcept
{
    metrics_.damaged_data().add();
    if (!damages_.line.due()) {
        ++damages_.count;
        return;
    }
    ngx_str_t name = ngx_base::borrow(redis_key);
    if (damages_.count == 0) {
        ngx_log_error(NGX_LOG_ERR, &log_, 0,
                      "petstore: the Redis key %V is damaged", &name);
    } else {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: the Redis key %V is damaged, %ui reports of damage since the last line",
            &name, damages_.count);
    }
    damages_.count = 0;
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

void StoreLog::report(store::Event event) noexcept
{
    if (event == store::Event::lookup_refused) {
        servers_.catalogue.rejections.add();
    } else if (event == store::Event::request_refused) {
        servers_.accounts.rejections.add();
    }
    const auto index = static_cast<std::size_t>(event);
    const EventLine& line = kEventLines[index];
    Reports& reports = events_[index];
    ++reports.count;
    if (!line.throttled || reports.line.due()) {
        ngx_log_error(line.level, &log_, 0, line.text, reports.count);
        reports.count = 0;
    }
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
