#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <string>

#include "../../redis/byte_stream.h"

namespace petstore::ctl {

// The options --cacert, --cert, --key, --sni and --insecure.
struct TlsOptions {
    std::string trusted_certificates;  // empty: the system's CA store
    std::string certificate;
    std::string key;
    std::string name;  // empty: the host of the URL
    bool insecure = false;

    bool any() const noexcept;
};

// TLS for all connections of a command.
class Tls {
public:
    // Loads the files. Throws Failure if one cannot be used, and UsageError if
    // there is a certificate without a key or the other way round.
    explicit Tls(const TlsOptions& options);

    // Performs the handshake on a connected socket; `host` is from the URL.
    // Throws ConnectionError. This object must outlive the stream.
    std::unique_ptr<redis::ByteStream>
    start(std::unique_ptr<redis::ByteStream> socket, const std::string& host,
          redis::ByteStream::Timeout timeout) const;

private:
    struct Free {
        void operator()(SSL_CTX* context) const noexcept
        {
            SSL_CTX_free(context);
        }
    };

    void load_trusted(const TlsOptions& options);
    void load_client_certificate(const TlsOptions& options);

    std::unique_ptr<SSL_CTX, Free> context_;
    std::string name_;
    bool verify_;
};

}  // namespace petstore::ctl
