#include "tls.h"

#include "../ngx_base/exception_border.h"
#include "../ngx_base/str.h"
#include "../redis/endpoint.h"

namespace petstore::ngx_redis {

#if (NGX_SSL)

namespace {

constexpr std::size_t kPoolSize = 512;  // for nginx's SSL connection object

bool certificate_has_ip(ngx_connection_t* socket, const char* address) noexcept
{
    X509* const certificate = SSL_get_peer_certificate(socket->ssl->connection);
    const bool has = certificate != nullptr
                     && X509_check_ip_asc(certificate, address, 0) == 1;
    X509_free(certificate);
    return has;
}

}  // namespace

Tls::~Tls()
{
    forget_session();
}

ngx_int_t Tls::begin(ngx_connection_t* socket, const std::string& host) noexcept
{
    errors_.clear();
    verified_ = false;
    name_ = settings_.name.empty() ? &host : &settings_.name;
    // Resumption skips verification, so never resume another host's session.
    if (session_name_ != *name_) {
        forget_session();
    }
    // end() destroys the pool.
    socket->pool = ngx_create_pool(kPoolSize, log_);
    if (socket->pool == nullptr) {
        return NGX_ERROR;
    }
    socket->log = errors_.log();
    if (ngx_ssl_create_connection(settings_.context, socket,
                                  NGX_SSL_BUFFER | NGX_SSL_CLIENT)
        != NGX_OK) {
        return NGX_ERROR;
    }
    // RFC 6066 does not permit IP addresses.
    const char* const name = name_->c_str();
    if (!redis::is_ip_address(name)
        && SSL_set_tlsext_host_name(socket->ssl->connection,
                                    const_cast<char*>(name))
               == 0) {
        ngx_ssl_error(NGX_LOG_ERR, socket->log, 0,
                      const_cast<char*>("SSL_set_tlsext_host_name() failed"));
        return NGX_ERROR;
    }
    return ngx_ssl_set_session(socket, static_cast<SSL_SESSION*>(session_));
}

ngx_int_t Tls::handshake(ngx_connection_t* socket) noexcept
{
    const ngx_int_t rc = ngx_ssl_handshake(socket);
    if (rc == NGX_AGAIN) {
        return rc;
    }
    if (rc != NGX_OK || !is_verified(socket)) {
        forget_session();
        return NGX_ERROR;
    }
    verified_ = true;
    ngx_log_error(
        NGX_LOG_INFO, log_, 0, "petstore: redis connection to \"%s\" uses %s%s",
        name_->c_str(), SSL_get_version(socket->ssl->connection),
        SSL_session_reused(socket->ssl->connection) ? ", session reused" : "");
    return NGX_OK;
}

// Verifies the server after the handshake, as nginx does for upstreams.
bool Tls::is_verified(ngx_connection_t* socket) noexcept
{
    if (!settings_.verify) {
        return true;
    }
    const long result = SSL_get_verify_result(socket->ssl->connection);
    if (result != X509_V_OK) {
        ngx_log_error(NGX_LOG_ERR, socket->log, 0,
                      "certificate verify error: (%l:%s)", result,
                      X509_verify_cert_error_string(result));
        return false;
    }
    ngx_str_t name = ngx_base::borrow(*name_);
    const bool matches = redis::is_ip_address(name_->c_str())
                             ? certificate_has_ip(socket, name_->c_str())
                             : ngx_ssl_check_host(socket, &name) == NGX_OK;
    if (!matches) {
        ngx_log_error(NGX_LOG_ERR, socket->log, 0,
                      "certificate does not match \"%V\"", &name);
    }
    return matches;
}

void Tls::read_alert(ngx_connection_t* socket) noexcept
{
    u_char discarded[1024];
    while (ngx_ssl_recv(socket, discarded, sizeof(discarded)) > 0) {
    }
}

void Tls::end(ngx_connection_t* socket) noexcept
{
    if (socket->ssl != nullptr) {
        errors_.mute();  // the caller may report reason() afterwards
        if (verified_) {
            keep_session(socket);
        }
        socket->ssl->no_wait_shutdown = 1;
        if (ngx_ssl_shutdown(socket) == NGX_AGAIN) {
            // No room for the alert in the socket's buffer.
            socket->ssl->no_send_shutdown = 1;
            (void)ngx_ssl_shutdown(socket);
        }
        verified_ = false;
    }
    if (socket->pool != nullptr) {
        ngx_destroy_pool(socket->pool);
        socket->pool = nullptr;
    }
}

// Called when the connection ends, because with TLS 1.3 tickets arrive after
// the handshake.
void Tls::keep_session(ngx_connection_t* socket) noexcept
{
    SSL_SESSION* const session = ngx_ssl_get_session(socket);
    if (session == nullptr) {
        return;
    }
    forget_session();
    session_ = session;
    if (!ngx_base::guarded(log_, false, [this] {
            session_name_ = *name_;
            return true;
        })) {
        forget_session();
    }
}

void Tls::forget_session() noexcept
{
    if (session_ != nullptr) {
        ngx_ssl_free_session(static_cast<SSL_SESSION*>(session_));
        session_ = nullptr;
    }
}

#else  // the configuration accepts no TLS, so nothing is ever enabled

Tls::~Tls() = default;

ngx_int_t Tls::begin(ngx_connection_t*, const std::string&) noexcept
{
    return NGX_ERROR;
}

ngx_int_t Tls::handshake(ngx_connection_t*) noexcept
{
    return NGX_ERROR;
}

void Tls::read_alert(ngx_connection_t*) noexcept {}

void Tls::end(ngx_connection_t*) noexcept {}

#endif

}  // namespace petstore::ngx_redis
