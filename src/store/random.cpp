#include "random.h"

#include <openssl/err.h>
#include <openssl/rand.h>

#include <stdexcept>

#include "../api/bearer.h"

namespace petstore::store {

api::Digest random_digest()
{
    api::Digest random;
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
        ERR_clear_error();  // see api/digest.cpp
        throw std::runtime_error("OpenSSL has no random numbers");
    }
    return random;
}

std::string new_id()
{
    constexpr std::size_t kSize = 16;
    return api::base62_id(random_digest(), kSize);
}

}  // namespace petstore::store
