#pragma once

#include <cstddef>
#include <string_view>

namespace petstore::api {

inline constexpr char32_t kNoCodePoint = 0xFFFFFFFF;

// The size in bytes of the first code point of `text`, which must not be empty.
// 0 if `text` does not start with one (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF).
inline std::size_t code_point_size(std::string_view text) noexcept
{
    const auto in = [text](std::size_t i, unsigned least, unsigned most) {
        const auto byte = static_cast<unsigned char>(text[i]);
        return byte >= least && byte <= most;
    };
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2) {
        return 0;
    }
    if (lead < 0xE0) {
        return text.size() >= 2 && in(1, 0x80, 0xBF) ? 2 : 0;
    }
    if (lead < 0xF0) {
        return text.size() >= 3
                       && in(1, lead == 0xE0 ? 0xA0 : 0x80,
                             lead == 0xED ? 0x9F : 0xBF)
                       && in(2, 0x80, 0xBF)
                   ? 3
                   : 0;
    }
    return lead <= 0xF4 && text.size() >= 4
                   && in(1, lead == 0xF0 ? 0x90 : 0x80,
                         lead == 0xF4 ? 0x8F : 0xBF)
                   && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF)
               ? 4
               : 0;
}

// Removes the first code point from `text`, which must not be empty, and
// returns it. kNoCodePoint if `text` does not start with one.
inline char32_t take_code_point(std::string_view& text) noexcept
{
    const std::size_t size = code_point_size(text);
    const auto bits = [text](std::size_t i, unsigned mask) {
        return static_cast<char32_t>(static_cast<unsigned char>(text[i])
                                     & mask);
    };
    char32_t point = kNoCodePoint;
    switch (size) {
    case 1:
        point = bits(0, 0x7F);
        break;
    case 2:
        point = bits(0, 0x1F) << 6 | bits(1, 0x3F);
        break;
    case 3:
        point = bits(0, 0x0F) << 12 | bits(1, 0x3F) << 6 | bits(2, 0x3F);
        break;
    case 4:
        point = bits(0, 0x07) << 18 | bits(1, 0x3F) << 12 | bits(2, 0x3F) << 6
                | bits(3, 0x3F);
        break;
    default:
        break;
    }
    text.remove_prefix(size);
    return point;
}

// Whether a character changes the direction of the text around it.
constexpr bool is_bidi_control(char32_t point) noexcept
{
    return point == 0x061C || point == 0x200E || point == 0x200F
           || (point >= 0x202A && point <= 0x202E)
           || (point >= 0x2066 && point <= 0x2069);
}

}  // namespace petstore::api
