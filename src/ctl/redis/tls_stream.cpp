#include "tls_stream.h"

#include <algorithm>
#include <new>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <system_error>
#include <utility>

#include "../../redis/endpoint.h"
#include "connection.h"

namespace petstore::ctl {

namespace {

using Clock = std::chrono::steady_clock;
using redis::ConnectionError;

// The payload of one TLS record. The server cannot read a partly sent record,
// so a write of at most one record is all or nothing.
constexpr std::size_t kMaxRecord = 16 * 1024;
constexpr std::size_t kTlsReadSize = 32 * 1024;

bool is_ssl_error(unsigned long error, int reason) noexcept
{
    return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == reason;
}

constexpr char kIsItTls[] = " (does this port speak TLS?)";

}  // namespace

std::string openssl_reason()
{
    const unsigned long error = ERR_peek_error();
    ERR_clear_error();
    const int library = ERR_GET_LIB(error);
    if (library == ERR_LIB_SYS) {
        return std::generic_category().message(ERR_GET_REASON(error));
    }
    const char* const reason = ERR_reason_error_string(error);
    return reason ? reason : "unknown OpenSSL error";
}

TlsStream::TlsStream(SSL_CTX* context,
                     std::unique_ptr<redis::ByteStream> socket)
    : socket_(std::move(socket)), ssl_(SSL_new(context)),
      received_(BIO_new(BIO_s_mem())), to_send_(BIO_new(BIO_s_mem()))
{
    if (!ssl_ || !received_ || !to_send_) {
        BIO_free(received_);
        BIO_free(to_send_);
        throw std::bad_alloc();
    }
    SSL_set_bio(ssl_.get(), received_, to_send_);
    SSL_set_connect_state(ssl_.get());
    input_.resize(kTlsReadSize);
}

void TlsStream::expect_name(const std::string& name, std::string shown)
{
    expected_ = std::move(shown);
    X509_VERIFY_PARAM* const verify = SSL_get0_param(ssl_.get());
    // RFC 6066 does not permit IP addresses in SNI.
    const bool set =
        redis::is_ip_address(name.c_str())
            ? X509_VERIFY_PARAM_set1_ip_asc(verify, name.c_str()) == 1
            : X509_VERIFY_PARAM_set1_host(verify, name.c_str(), name.size())
                      == 1
                  && SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1;
    if (!set) {
        throw ConnectionError("TLS: " + openssl_reason());
    }
}

void TlsStream::handshake(Timeout timeout)
{
    const auto deadline = Clock::now() + timeout;
    for (;;) {
        ERR_clear_error();
        const int result = SSL_do_handshake(ssl_.get());
        if (result != 1
            && SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) {
            handshake_failed();
        }
        const bool sent = send();
        if (result == 1 && sent) {
            return;
        }
        try {
            wait_for(*socket_, sent ? POLLIN : POLLOUT, deadline);
        } catch (const redis::TimedOut&) {
            throw redis::TimedOut(std::string("TLS handshake timed out")
                                  + kIsItTls);
        }
        if (sent && receive() == false) {
            throw ConnectionError(
                "the server closed the connection during the TLS handshake");
        }
    }
}

void TlsStream::handshake_failed()
{
    const unsigned long error = ERR_peek_error();
    const std::string reason = openssl_reason();
    try {
        send();  // the alert, for the server's log
    } catch (const ConnectionError&) {
        // The reason is already known.
    }
    if (!is_ssl_error(error, SSL_R_CERTIFICATE_VERIFY_FAILED)) {
        const bool no_tls =
            is_ssl_error(error, SSL_R_WRONG_VERSION_NUMBER)
            || is_ssl_error(error, SSL_R_PACKET_LENGTH_TOO_LONG);
        throw TlsError("TLS handshake failed: " + reason
                       + (no_tls ? kIsItTls : ""));
    }
    const long verdict = SSL_get_verify_result(ssl_.get());
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH
        || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        throw TlsError("certificate does not match " + expected_);
    }
    throw TlsError(std::string("certificate verify error: ")
                   + X509_verify_cert_error_string(verdict));
}

std::size_t TlsStream::write(std::string_view bytes)
{
    if (!send() || bytes.empty()) {
        return 0;
    }
    ERR_clear_error();
    const int size = static_cast<int>(std::min(bytes.size(), kMaxRecord));
    const int written = SSL_write(ssl_.get(), bytes.data(), size);
    if (written <= 0) {
        throw TlsError("TLS: " + openssl_reason());
    }
    send();
    return static_cast<std::size_t>(written);
}

std::optional<std::size_t> TlsStream::read(char* buffer, std::size_t size)
{
    const int limit = static_cast<int>(std::min(size, kTlsReadSize));
    for (;;) {
        ERR_clear_error();
        const int got = SSL_read(ssl_.get(), buffer, limit);
        has_input_ = got > 0;
        if (got > 0) {
            return static_cast<std::size_t>(got);
        }
        switch (SSL_get_error(ssl_.get(), got)) {
        case SSL_ERROR_WANT_READ:
            break;
        case SSL_ERROR_ZERO_RETURN:
            return 0;
        default:
            throw TlsError("TLS: " + openssl_reason());
        }
        // Before anything is sent: a server that refuses a client certificate
        // says so, and closes the connection.
        const auto open = receive();
        if (!open) {
            send();  // the reply to a KeyUpdate, if any
            return std::nullopt;
        }
        if (!*open) {
            return 0;
        }
    }
}

// Passes what the server sent to OpenSSL. False if the server has closed the
// connection, nullopt if nothing has arrived.
std::optional<bool> TlsStream::receive()
{
    const auto got = socket_->read(input_.data(), input_.size());
    if (!got) {
        return std::nullopt;
    }
    if (*got > 0
        && BIO_write(received_, input_.data(), static_cast<int>(*got))
               != static_cast<int>(*got)) {
        throw std::bad_alloc();
    }
    return *got > 0;
}

// Sends what OpenSSL wrote. False if the socket does not take all of it now.
bool TlsStream::send()
{
    char* data = nullptr;
    const long size = BIO_get_mem_data(to_send_, &data);
    const std::string_view all(data, static_cast<std::size_t>(size));
    std::size_t sent = 0;
    while (sent < all.size()) {
        const std::size_t taken = socket_->write(all.substr(sent));
        if (taken == 0) {
            break;
        }
        sent += taken;
    }
    const bool complete = sent == all.size();
    // Reading from the BIO is how to drop its first bytes.
    std::string dropped(sent, '\0');
    BIO_read(to_send_, dropped.data(), static_cast<int>(sent));
    return complete;
}

}  // namespace petstore::ctl
