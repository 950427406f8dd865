#include "random.h"

#include <openssl/rand.h>

#include "../../api/bearer.h"
#include "../exit.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kIdLength = 16;

}  // namespace

api::Digest random_digest()
{
    api::Digest random;
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
        throw Failure("OpenSSL has no random numbers");
    }
    return random;
}

std::string new_id()
{
    return api::base62_id(random_digest(), kIdLength);
}

}  // namespace petstore::ctl
