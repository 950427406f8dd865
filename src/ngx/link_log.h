#pragma once

#include <cstddef>
#include <string>

#include "../resp/reply.h"
#include "ngx.h"
#include "timer.h"

namespace petstore::ngx {

// What one connection to Redis writes to the error log: once for each outage,
// or at most once per second. Of an error only the first word is written,
// because the rest may quote credentials or what was sent. Allocates nothing.
class LinkLog {
public:
    // `name` is the Redis's, without credentials, and outlives this.
    LinkLog(const std::string& name, const ngx_log_t& log) noexcept;
    LinkLog(const LinkLog&) = delete;
    LinkLog& operator=(const LinkLog&) = delete;

    // Without the context of a request, which a connection outlives.
    ngx_log_t* log() noexcept { return &log_; }

    // `address` is nullptr if the Redis has but one. Of an outage, until
    // recovered(), the first failure is written, and that a server was found to
    // be a replica.
    void failed(const char* reason, ngx_err_t error, const char* address,
                bool replica) noexcept;
    void tries_next(const char* reason, ngx_err_t error,
                    const char* address) noexcept;
    void recovered(ngx_msec_t after) noexcept;
    void history_changed() noexcept;

    // `words` and the error's first word, for failed(); valid until the next
    // call.
    const char* reason(const char* words, const resp::Reply& error) noexcept;

    // INFO was refused, or told too little. Written once.
    void role_unknown(const resp::Reply& reply) noexcept;

    // An error that needs operator action.
    void error_reply(const resp::Reply& error) noexcept;

    // A command was refused because the queue was full. The line, with their
    // number, is written by report_refused().
    void refused() noexcept { ++refused_; }
    void report_refused() noexcept;

private:
    const char* name_;
    ngx_log_t log_;
    std::size_t refused_ = 0;  // since the last line
    OncePerSecond errors_;
    OncePerSecond refusals_;
    char reason_[64];
    bool outage_ = false;
    bool replica_ = false;  // of the outage
    bool role_unknown_ = false;
};

// The first word of an error reply as it may be logged, with a terminating NUL.
// A server must not bring control characters into the log.
class ErrorCode {
public:
    explicit ErrorCode(const resp::Reply& error) noexcept;
    const char* text() const noexcept { return text_; }

private:
    char text_[33];
};

}  // namespace petstore::ngx
