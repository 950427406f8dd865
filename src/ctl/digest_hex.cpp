#include "digest_hex.h"

#include <charconv>

namespace petstore::ctl {

std::optional<api::Digest> digest_of_hex(std::string_view hex) noexcept
{
    api::Digest digest;
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

}  // namespace petstore::ctl
