#include "digest.h"

#include <openssl/evp.h>

#include <stdexcept>

namespace petstore::api {
namespace {

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
        throw std::runtime_error("OpenSSL has no SHA-256");
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
        throw std::runtime_error("OpenSSL failed to compute a SHA-256");
    }
    return digest;
}

}  // namespace petstore::api
