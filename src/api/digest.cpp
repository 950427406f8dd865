#include "digest.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace petstore::api {
namespace {

// OpenSSL queues its errors for the thread. nginx takes what it finds there for
// errors of its own connections.
[[noreturn]] void fail(const char* what)
{
    ERR_clear_error();
    throw std::runtime_error(what);
}

// A context that has its algorithm costs a third of SHA256() and EVP_Digest(),
// which look the algorithm up and allocate for each call. Kept by a bare
// pointer and never freed: a destructor would run when OpenSSL may be gone.
EVP_MD_CTX* new_context()
{
    EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    const bool ready = algorithm != nullptr && context != nullptr
                       && EVP_DigestInit_ex(context, algorithm, nullptr) == 1;
    EVP_MD_free(algorithm);
    if (!ready) {
        EVP_MD_CTX_free(context);
        fail("OpenSSL has no SHA-256");
    }
    return context;
}

}  // namespace

Digest sha256(std::string_view bytes)
{
    thread_local EVP_MD_CTX* context = nullptr;
    if (context == nullptr) {
        context = new_context();
    }
    Digest digest;
    if (EVP_DigestInit_ex(context, nullptr, nullptr) != 1
        || EVP_DigestUpdate(context, bytes.data(), bytes.size()) != 1
        || EVP_DigestFinal_ex(context, digest.data(), nullptr) != 1) {
        fail("OpenSSL failed to compute a SHA-256");
    }
    return digest;
}

}  // namespace petstore::api
