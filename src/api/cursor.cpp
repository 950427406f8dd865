#include "cursor.h"

#include <zlib.h>

#include "text.h"

namespace petstore::api {

namespace {

constexpr std::size_t kCrcBytes = 4;

std::uint64_t crc_of(std::string_view bytes) noexcept
{
    return crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                 static_cast<uInt>(bytes.size()));
}

}  // namespace

void append_big_endian(std::string& out, std::uint64_t value, int bytes)
{
    while (bytes-- > 0) {
        out.push_back(static_cast<char>(value >> (bytes * 8) & 0xFF));
    }
}

std::uint64_t big_endian(std::string_view bytes) noexcept
{
    std::uint64_t value = 0;
    for (const char c : bytes) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
}

std::string seal(std::string bytes)
{
    append_big_endian(bytes, crc_of(bytes), kCrcBytes);
    return base64url_encode(bytes);
}

std::optional<std::string> unseal(std::string_view cursor)
{
    auto bytes = base64url_decode(cursor);
    if (!bytes || bytes->size() < kCrcBytes) {
        return std::nullopt;
    }
    const std::size_t size = bytes->size() - kCrcBytes;
    const std::uint64_t crc = big_endian(std::string_view(*bytes).substr(size));
    bytes->resize(size);
    return crc == crc_of(*bytes) ? bytes : std::nullopt;
}

}  // namespace petstore::api
