#include "node_log.h"

#include "../redis/error_table.h"

namespace petstore::ngx_redis {

NodeLog::NodeLog(const std::string& name, const ngx_log_t& log) noexcept
    : name_(name.c_str()), log_(log)
{
    log_.handler = nullptr;
    log_.data = nullptr;
    log_.action = nullptr;
}

void NodeLog::failed(const char* reason, ngx_err_t error, const char* address,
                     metrics::FailureCause cause) noexcept
{
    const bool replica = cause == metrics::FailureCause::replica;
    if (outage_ && (replica_ || !replica)) {
        return;
    }
    outage_ = true;
    replica_ = replica_ || replica;
    if (address == nullptr) {
        ngx_log_error(NGX_LOG_ERR, &log_, error, "petstore: redis %s: %s",
                      name_, reason);
    } else {
        ngx_log_error(NGX_LOG_ERR, &log_, error, "petstore: redis %s at %s: %s",
                      name_, address, reason);
    }
}

void NodeLog::trying_next(const char* reason, ngx_err_t error,
                          const char* address) noexcept
{
    ngx_log_error(NGX_LOG_INFO, &log_, error,
                  "petstore: redis %s at %s: %s, trying the next address",
                  name_, address, reason);
}

void NodeLog::recovered(ngx_msec_t after) noexcept
{
    outage_ = false;
    replica_ = false;
    ngx_log_error(NGX_LOG_NOTICE, &log_, 0,
                  "petstore: redis %s is back after %M ms", name_, after);
}

void NodeLog::history_changed() noexcept
{
    ngx_log_error(
        NGX_LOG_NOTICE, &log_, 0,
        "petstore: redis %s: replication ID changed, dropping cached pets",
        name_);
}

void NodeLog::moved(const redis::ServerAddress& primary) noexcept
{
    ngx_log_error(NGX_LOG_NOTICE, &log_, 0,
                  "petstore: redis %s: primary changed to %s port %d", name_,
                  primary.host.c_str(), primary.port);
}

void NodeLog::idle_loss(const char* how) noexcept
{
    ngx_log_error(NGX_LOG_INFO, &log_, 0,
                  "petstore: redis %s: the idle connection %s", name_, how);
}

void NodeLog::sentinel_back(ngx_msec_t after) noexcept
{
    outage_ = false;
    ngx_log_error(NGX_LOG_NOTICE, &log_, 0,
                  "petstore: redis %s: a Sentinel answers again after %M ms",
                  name_, after);
}

void NodeLog::cannot_subscribe(const redis::Reply& error) noexcept
{
    if (cannot_subscribe_) {
        return;
    }
    cannot_subscribe_ = true;
    ngx_log_error(
        NGX_LOG_WARN, &log_, 0,
        "petstore: redis %s: a Sentinel does not allow SUBSCRIBE (%s), polling it once per second",
        name_, ErrorCode(error).text());
}

void NodeLog::role_unknown(const redis::Reply& reply) noexcept
{
    if (role_unknown_) {
        return;
    }
    role_unknown_ = true;
    ngx_log_error(
        NGX_LOG_WARN, &log_, 0,
        "petstore: redis %s does not report its replication role (%s): a failover that keeps connections open is detected by READONLY errors only; allow INFO",
        name_,
        reply.is_error() ? ErrorCode(reply).text() : "INFO lacks the fields");
}

void NodeLog::identity_unknown(const char* command,
                               const redis::Reply& reply) noexcept
{
    if (identity_unknown_ || !redis::is_forbidden(reply)) {
        return;
    }
    identity_unknown_ = true;
    ngx_log_error(
        NGX_LOG_WARN, &log_, 0,
        "petstore: redis %s refuses %s (NOPERM): a server that takes over the address of another is not noticed",
        name_, command);
}

void NodeLog::needs_resolver(const redis::ServerAddress& server) noexcept
{
    if (names_.due()) {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: redis %s announces the host name \"%s\", which needs a \"resolver\"",
            name_, server.host.c_str());
    }
}

void NodeLog::too_many_servers() noexcept
{
    if (redirects_.due()) {
        ngx_log_error(
            NGX_LOG_ERR, &log_, 0,
            "petstore: redis %s redirects to too many servers that it does not list",
            name_);
    }
}

const char* NodeLog::reason(const char* words, const char* detail) noexcept
{
    auto* const text = reinterpret_cast<u_char*>(reason_);
    *ngx_snprintf(text, sizeof(reason_) - 1, "%s %s", words, detail) = '\0';
    return reason_;
}

const char* NodeLog::reason(const char* words,
                            const redis::Reply& error) noexcept
{
    return reason(words, ErrorCode(error).text());
}

void NodeLog::error_reply(const redis::Reply& error) noexcept
{
    if (errors_.due()) {
        ngx_log_error(NGX_LOG_ERR, &log_, 0,
                      "petstore: redis %s answered with %s", name_,
                      ErrorCode(error).text());
    }
}

void NodeLog::warning_reply(const redis::Reply& error) noexcept
{
    if (warnings_.due()) {
        ngx_log_error(NGX_LOG_WARN, &log_, 0,
                      "petstore: redis %s answered with %s", name_,
                      ErrorCode(error).text());
    }
}

void NodeLog::report_refused() noexcept
{
    if (refused_ == 0 || !refusals_.due()) {
        return;
    }
    ngx_log_error(NGX_LOG_WARN, &log_, 0,
                  "petstore: redis %s: queue full, %uz commands refused", name_,
                  refused_);
    refused_ = 0;
}

ErrorCode::ErrorCode(const redis::Reply& error) noexcept
{
    static_assert(redis::kForeignKey.size() < sizeof(text_),
                  "the longest code in the table of errors");
    const std::string_view code = redis::error_row(error.text()).code;
    const std::string_view shown = code.empty() ? error.error_code() : code;
    std::size_t size = 0;
    for (const char c : shown.substr(0, sizeof(text_) - 1)) {
        text_[size++] = c >= ' ' && c < 0x7f ? c : '?';
    }
    text_[size] = '\0';
}

}  // namespace petstore::ngx_redis
