#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "ngx.h"

namespace petstore::ngx_base {

// A log that keeps its last message for the caller to report. ngx_ssl_*
// functions log and clear OpenSSL's error queue, at a level and in a form that
// the caller cannot choose. Alerts, which indicate bugs in nginx or a module,
// still go to the real log.
class CapturedLog {
public:
    explicit CapturedLog(ngx_log_t* real) noexcept : real_(real)
    {
        clear();
        log_.writer = write;
        log_.wdata = this;
    }
    CapturedLog(const CapturedLog&) = delete;
    CapturedLog& operator=(const CapturedLog&) = delete;

    ngx_log_t* log() noexcept { return &log_; }

    void clear() noexcept
    {
        text_[0] = '\0';
        log_.log_level = NGX_LOG_INFO;
    }

    // Keeps the current text until clear().
    void mute() noexcept { log_.log_level = NGX_LOG_STDERR; }

    // Empty if nothing was logged.
    const char* text() const noexcept { return text_; }

private:
    // The line is "TIME [LEVEL] PID#TID: MESSAGE".
    static void write(ngx_log_t* log, ngx_uint_t level, u_char* line,
                      size_t size) noexcept
    {
        auto& self = *static_cast<CapturedLog*>(log->wdata);
        std::string_view message(reinterpret_cast<const char*>(line), size);
        const auto process = message.find("] ");
        const auto begin = message.find(": ", process);
        if (begin != std::string_view::npos) {
            message.remove_prefix(begin + 2);
        }
        while (!message.empty() && message.back() == '\n') {
            message.remove_suffix(1);
        }
        if (level == NGX_LOG_ALERT) {
            ngx_log_error(level, self.real_, 0, "%*s", message.size(),
                          message.data());
            return;
        }
        const auto kept = message.substr(0, sizeof(self.text_) - 1);
        std::memcpy(self.text_, kept.data(), kept.size());
        self.text_[kept.size()] = '\0';
    }

    ngx_log_t* real_;
    ngx_log_t log_{};
    char text_[512] = "";
};

}  // namespace petstore::ngx_base
