#pragma once

#include <cstddef>
#include <string_view>

namespace petstore::api {

inline constexpr char32_t kNoCodePoint = 0xFFFFFFFF;

// Takes one code point off the front of `text`, which must not be empty;
// kNoCodePoint where it does not start with one (RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF).
inline char32_t take_code_point(std::string_view& text) noexcept
{
    const auto byte = [text](std::size_t i) {
        return static_cast<unsigned char>(text[i]);
    };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        text.remove_prefix(1);
        return lead;
    }
    std::size_t length;
    char32_t point;
    char32_t least;
    if ((lead & 0xE0) == 0xC0) {
        length = 2;
        point = lead & 0x1FU;
        least = 0x80;
    } else if ((lead & 0xF0) == 0xE0) {
        length = 3;
        point = lead & 0x0FU;
        least = 0x800;
    } else if ((lead & 0xF8) == 0xF0) {
        length = 4;
        point = lead & 0x07U;
        least = 0x10000;
    } else {
        return kNoCodePoint;
    }
    if (text.size() < length) {
        return kNoCodePoint;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return kNoCodePoint;
        }
        point = point << 6 | (byte(i) & 0x3FU);
    }
    if (point < least || point > 0x10FFFF
        || (point >= 0xD800 && point <= 0xDFFF)) {
        return kNoCodePoint;
    }
    text.remove_prefix(length);
    return point;
}

}  // namespace petstore::api
