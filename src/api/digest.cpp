#include "digest.h"

#include <charconv>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace petstore::api {
namespace {

// Clears OpenSSL's per-thread error queue: nginx would attribute the errors in
// it to its own connections.
[[noreturn]] void fail(const char* what)
{
    ERR_clear_error();
    throw std::runtime_error(what);
}

// Reusing a context with its algorithm set costs a third of SHA256() or
// EVP_Digest(), which look up the algorithm and allocate on each call. Held by
// a raw pointer and never freed: a destructor might run after OpenSSL's
// cleanup.
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

std::optional<Digest> digest_of_hex(std::string_view hex) noexcept
{
    Digest digest;
    if (hex.size() != 2 * digest.size()
        || hex.find_first_not_of("0123456789abcdefABCDEF")
               != std::string_view::npos) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const char* byte = hex.data() + 2 * i;
        std::from_chars(byte, byte + 2, digest[i], 16);
    }
    return digest;
}

}  // namespace petstore::api
