#pragma once

#include <string>

#include "../ngx_base/captured_log.h"
#include "../ngx_base/ngx.h"
#include "node_settings.h"

namespace petstore::ngx_redis {

// TLS for the connections of one node, one at a time, using nginx's ngx_ssl_*
// functions. Keeps the last session, so that a reconnect resumes it. nginx
// would log each failure; here the text is kept instead, as the reason in the
// one log line per outage.
class Tls {
public:
    // Both must outlive this object.
    Tls(const TlsSettings& settings, ngx_log_t* log) noexcept
        : settings_(settings), log_(log), errors_(log)
    {}
    ~Tls();
    Tls(const Tls&) = delete;

    bool enabled() const noexcept { return settings_.context != nullptr; }

    // The socket is connected to `host`, which must stay valid until end().
    // NGX_OK or NGX_ERROR; see reason().
    ngx_int_t begin(ngx_connection_t* socket, const std::string& host) noexcept;

    // Call again on each event of the socket while it returns NGX_AGAIN. Sets
    // the handlers of the socket. NGX_OK once the server is verified.
    ngx_int_t handshake(ngx_connection_t* socket) noexcept;

    // A write failed. The server may have sent the reason before it closed,
    // such as a client certificate that TLS 1.3 refuses only after the
    // handshake.
    void read_alert(ngx_connection_t* socket) noexcept;

    // Never waits. Safe without begin().
    void end(ngx_connection_t* socket) noexcept;

    // Why the last call on the socket failed, or `otherwise` if TLS is not to
    // blame. Valid until the next call.
    const char* reason(const char* otherwise) const noexcept
    {
        return errors_.text()[0] != '\0' ? errors_.text() : otherwise;
    }

private:
    bool is_verified(ngx_connection_t* socket) noexcept;
    void keep_session(ngx_connection_t* socket) noexcept;
    void forget_session() noexcept;

    const TlsSettings& settings_;
    ngx_log_t* log_;
    ngx_base::CapturedLog errors_;
    bool verified_ = false;
    const std::string* name_ = nullptr;  // expected in the certificate
    void* session_ = nullptr;            // SSL_SESSION; owned
    std::string session_name_;  // verified when the session was established
};

}  // namespace petstore::ngx_redis
