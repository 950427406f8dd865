#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <string>

#include "../../redis/byte_stream.h"

namespace petstore::ctl {

// The reason of the first error in OpenSSL's error queue. Clears the queue.
std::string openssl_reason();

// The handshake failed: the server is reachable, but one side refused the
// other.
class TlsError : public redis::ConnectionError {
public:
    using ConnectionError::ConnectionError;
};

// Encrypts the bytes of another stream. OpenSSL reads and writes memory only.
class TlsStream final : public redis::ByteStream {
public:
    // `context` verifies certificates or not; it must outlive the stream.
    TlsStream(SSL_CTX* context, std::unique_ptr<redis::ByteStream> socket);

    // The host name or IP address that the certificate must contain. A name is
    // also sent to the server (SNI). Messages contain `shown`.
    void expect_name(const std::string& name, std::string shown);

    // Throws TlsError, and ConnectionError if the connection is lost or the
    // handshake takes longer than `timeout`.
    void handshake(Timeout timeout);

    std::size_t write(std::string_view bytes) override;
    std::optional<std::size_t> read(char* buffer, std::size_t size) override;
    bool has_output() const noexcept override
    {
        return BIO_ctrl_pending(to_send_) > 0;
    }
    bool has_input() const noexcept override { return has_input_; }
    int descriptor() const noexcept override { return socket_->descriptor(); }

private:
    struct Free {
        void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
    };

    std::optional<bool> receive();
    bool send();
    [[noreturn]] void handshake_failed();

    std::unique_ptr<redis::ByteStream> socket_;
    std::unique_ptr<SSL, Free> ssl_;
    BIO* received_ = nullptr;  // both owned by ssl_
    BIO* to_send_ = nullptr;
    std::string input_;
    std::string expected_;
    bool has_input_ = false;  // possibly in OpenSSL's buffers
};

}  // namespace petstore::ctl
