#pragma once

#include <cstddef>
#include <string>

#include "../metrics/redis_counters.h"
#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/reply.h"
#include "../redis/sentinel.h"

namespace petstore::ngx_redis {

// Writes one node's lines to the error log: one per outage, or at most one per
// second. Logs only the code of an error reply, because the rest may quote
// credentials or arguments. Allocates nothing.
class NodeLog {
public:
    // `name` must not contain credentials and must outlive this object.
    NodeLog(const std::string& name, const ngx_log_t& log) noexcept;
    NodeLog(const NodeLog&) = delete;
    NodeLog& operator=(const NodeLog&) = delete;

    // Has no request context, because connections outlive requests.
    ngx_log_t* log() noexcept { return &log_; }

    // `address` is nullptr if the node has only one. Until recovered(), only
    // the first failure is logged, and the first one caused by a replica.
    void
    failed(const char* reason, ngx_err_t error, const char* address,
           metrics::FailureCause cause = metrics::FailureCause::other) noexcept;
    void trying_next(const char* reason, ngx_err_t error,
                     const char* address) noexcept;
    void recovered(ngx_msec_t after) noexcept;
    void history_changed() noexcept;

    // The idle connection `how`, for example "was lost".
    void idle_loss(const char* how) noexcept;

    // The Sentinels name another primary.
    void moved(const redis::ServerAddress& primary) noexcept;

    // A Sentinel is usable again, `after` milliseconds after failed().
    void sentinel_back(ngx_msec_t after) noexcept;

    // A Sentinel refused SUBSCRIBE. Logged once.
    void cannot_subscribe(const redis::Reply& error) noexcept;

    // `words` and the detail, or the error's code, as a reason for failed().
    // Valid until the next call.
    const char* reason(const char* words, const char* detail) noexcept;
    const char* reason(const char* words, const redis::Reply& error) noexcept;

    // A server of a Cluster announces a name. Logged at most once per second.
    void needs_resolver(const redis::ServerAddress& server) noexcept;

    // A redirect was not followed. Logged at most once per second.
    void too_many_servers() noexcept;

    // INFO was refused, or lacked the fields. Logged once.
    void role_unknown(const redis::Reply& reply) noexcept;

    // The reply to `command`, which should say which server is at an address.
    // Logged once, if an ACL rule forbids it.
    void identity_unknown(const char* command,
                          const redis::Reply& reply) noexcept;

    // An error that needs operator action, and one that resolves itself.
    void error_reply(const redis::Reply& error) noexcept;
    void warning_reply(const redis::Reply& error) noexcept;

    // A command was refused because the queue was full. report_refused() logs
    // how many there were.
    void refused() noexcept { ++refused_; }
    void report_refused() noexcept;

private:
    const char* name_;
    ngx_log_t log_;
    std::size_t refused_ = 0;  // since the last log line
    ngx_base::OncePerSecond errors_;
    ngx_base::OncePerSecond warnings_;
    ngx_base::OncePerSecond refusals_;
    ngx_base::OncePerSecond names_;
    ngx_base::OncePerSecond redirects_;
    char reason_[80];
    bool outage_ = false;
    bool replica_ = false;  // logged in this outage
    bool role_unknown_ = false;
    bool cannot_subscribe_ = false;
    bool identity_unknown_ = false;
};

// The code of an error reply, or its first word if it is unknown,
// NUL-terminated and safe to log: a server must not write control characters
// into the log.
class ErrorCode {
public:
    explicit ErrorCode(const redis::Reply& error) noexcept;
    const char* text() const noexcept { return text_; }

private:
    char text_[64];
};

}  // namespace petstore::ngx_redis
