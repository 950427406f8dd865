#include "tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <utility>

#include "../exit.h"
#include "tls_stream.h"

namespace petstore::ctl {

namespace {

// Without a callback, OpenSSL asks the terminal for the password of a key.
int refuse_password(char*, int, int, void* asked)
{
    *static_cast<bool*>(asked) = true;
    return -1;
}

// Whether the error means that a file has no PEM text of the kind that was
// looked for; OpenSSL 3 looks for keys with decoders.
bool is_no_pem(unsigned long error)
{
    const int library = ERR_GET_LIB(error);
    return library == ERR_LIB_OSSL_DECODER
           || (library == ERR_LIB_PEM
               && ERR_GET_REASON(error) == PEM_R_NO_START_LINE);
}

bool is_mismatch(unsigned long error)
{
    const int reason = ERR_GET_REASON(error);
    return ERR_GET_LIB(error) == ERR_LIB_X509
           && (reason == X509_R_KEY_VALUES_MISMATCH
               || reason == X509_R_KEY_TYPE_MISMATCH);
}

// The message does not name the file, which may be a misplaced API key.
[[noreturn]] void refuse_file(const char* option, const std::string& reason)
{
    throw Failure(std::string("cannot use the file of ") + option + ": "
                  + reason);
}

}  // namespace

bool TlsOptions::any() const noexcept
{
    return !trusted_certificates.empty() || !certificate.empty() || !key.empty()
           || !name.empty() || insecure;
}

Tls::Tls(const TlsOptions& options)
    : context_(SSL_CTX_new(TLS_client_method())), name_(options.name),
      verify_(!options.insecure)
{
    if (!context_) {
        throw Failure("TLS: " + openssl_reason());
    }
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    // TlsStream::write() cannot handle a need to read.
    SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_verify(context_.get(),
                       verify_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    load_trusted(options);
    load_client_certificate(options);
}

void Tls::load_trusted(const TlsOptions& options)
{
    ERR_clear_error();
    const std::string& file = options.trusted_certificates;
    if (!file.empty()) {
        if (SSL_CTX_load_verify_locations(context_.get(), file.c_str(), nullptr)
            != 1) {
            refuse_file("--cacert", openssl_reason());
        }
    } else if (verify_
               && SSL_CTX_set_default_verify_paths(context_.get()) != 1) {
        throw Failure("cannot use the system's CA store: " + openssl_reason());
    }
}

void Tls::load_client_certificate(const TlsOptions& options)
{
    if (options.certificate.empty() != options.key.empty()) {
        throw UsageError(options.key.empty() ? "--cert needs --key"
                                             : "--key needs --cert");
    }
    if (options.key.empty()) {
        return;
    }
    SSL_CTX* const context = context_.get();
    bool asked = false;
    SSL_CTX_set_default_passwd_cb(context, refuse_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, &asked);

    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, options.certificate.c_str())
        != 1) {
        refuse_file("--cert", is_no_pem(ERR_peek_error())
                                  ? "no certificate in PEM format"
                                  : openssl_reason());
    }
    const bool loaded = SSL_CTX_use_PrivateKey_file(
                            context, options.key.c_str(), SSL_FILETYPE_PEM)
                        == 1;
    if (asked) {
        refuse_file("--key", "the key is encrypted");
    }
    // OpenSSL accepts a key of another type, but then ignores the certificate.
    if (loaded ? SSL_CTX_check_private_key(context) != 1
               : is_mismatch(ERR_peek_error())) {
        refuse_file("--key", "the key is not that of the certificate");
    }
    if (!loaded) {
        refuse_file("--key", is_no_pem(ERR_peek_error())
                                 ? "no key in PEM format"
                                 : openssl_reason());
    }
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
}

std::unique_ptr<redis::ByteStream>
Tls::start(std::unique_ptr<redis::ByteStream> socket, const std::string& host,
           redis::ByteStream::Timeout timeout) const
{
    auto stream =
        std::make_unique<TlsStream>(context_.get(), std::move(socket));
    if (!name_.empty()) {
        stream->expect_name(name_, "the name of --sni");
    } else {
        // Without the zone of an IPv6 address.
        const std::string name = host.substr(0, host.find('%'));
        stream->expect_name(name, '"' + name + '"');
    }
    stream->handshake(timeout);
    return stream;
}

}  // namespace petstore::ctl
