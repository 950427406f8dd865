#include "script.h"

#include <array>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "../api/text.h"

namespace petstore::redis {

namespace {

std::string sha1_of(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    if (!EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(),
                    nullptr)) {
        ERR_clear_error();  // see api/digest.cpp
        throw std::runtime_error("OpenSSL has no SHA-1");
    }
    return api::to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace

Script::Script(std::string text)
    : text(std::move(text)), sha1(sha1_of(this->text))
{}

}  // namespace petstore::redis
