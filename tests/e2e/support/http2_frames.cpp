#include "http2_frames.h"

namespace petstore::e2e {

namespace {

std::string hpack_text(std::string_view text)
{
    std::string out;
    std::size_t size = text.size();
    if (size < 127) {
        out.push_back(static_cast<char>(size));
    } else {
        out.push_back(127);
        for (size -= 127; size >= 128; size /= 128) {
            out.push_back(static_cast<char>(size % 128 + 128));
        }
        out.push_back(static_cast<char>(size));
    }
    return out.append(text);
}

}  // namespace

std::string http2_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                        std::string_view payload)
{
    return (big_endian(payload.size(), 3) + big_endian(type, 1)
            + big_endian(flags, 1) + big_endian(id, 4))
        .append(payload);
}

std::string big_endian(std::uint64_t value, int bytes)
{
    std::string text;
    while (bytes-- > 0) {
        text.push_back(static_cast<char>(value >> (8 * bytes)));
    }
    return text;
}

std::uint32_t number_at(const std::string& bytes, std::size_t at, int size)
{
    std::uint32_t value = 0;
    for (int i = 0; i < size; ++i) {
        value = value << 8
                | static_cast<unsigned char>(
                    bytes[at + static_cast<std::size_t>(i)]);
    }
    return value;
}

std::string hpack_field(std::string_view name, std::string_view value)
{
    return std::string(1, '\0') + hpack_text(name) + hpack_text(value);
}

}  // namespace petstore::e2e
