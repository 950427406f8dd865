#include "text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "utf8.h"

namespace petstore::api {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// The character after the backslash in a JSON string: 0 for bytes copied
// unchanged, 'u' for those without a short escape.
constexpr std::array<char, 256> make_escapes()
{
    std::array<char, 256> escapes{};
    for (std::size_t i = 0; i < 0x20; ++i) {
        escapes[i] = 'u';
    }
    escapes['\b'] = 'b';
    escapes['\f'] = 'f';
    escapes['\n'] = 'n';
    escapes['\r'] = 'r';
    escapes['\t'] = 't';
    escapes['"'] = '"';
    escapes['\\'] = '\\';
    return escapes;
}

constexpr std::array<char, 256> kEscapes = make_escapes();

// Strings are scanned eight bytes at a time where possible.
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kHighBits = 0x8080808080808080;

constexpr std::uint64_t in_every_byte(unsigned char value)
{
    return value * std::uint64_t{0x0101010101010101};
}

std::uint64_t load_word(const char* bytes) noexcept
{
    std::uint64_t word;
    std::memcpy(&word, bytes, kWord);
    return word;
}

// Whether any byte is below `least`, which must be at most 0x80.
constexpr bool has_below(std::uint64_t word, unsigned char least)
{
    return ((word - in_every_byte(least)) & ~word & kHighBits) != 0;
}

constexpr bool has(std::uint64_t word, unsigned char byte)
{
    return has_below(word ^ in_every_byte(byte), 1);
}

constexpr bool needs_escape(std::uint64_t word)
{
    return has_below(word, 0x20) || has(word, '"') || has(word, '\\');
}

constexpr int hex_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view text) noexcept
{
    const bool negative = !text.empty() && text.front() == '-';
    const std::string_view digits = text.substr(negative ? 1 : 0);
    if (digits.empty() || !is_digit(digits.front())
        || (digits.front() == '0' && text.size() > 1)) {
        return std::nullopt;
    }
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) {
        return std::nullopt;
    }
    return value;
}

std::optional<int> parse_port(std::string_view text) noexcept
{
    const auto port = parse_int64(text);
    return port && *port >= 1 && *port <= 65535
               ? std::optional(static_cast<int>(*port))
               : std::nullopt;
}

std::string_view take_word(std::string_view& text) noexcept
{
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

void append_int(std::string& out, std::int64_t value)
{
    char buffer[20];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
    out.append(buffer, result.ptr);
}

std::optional<std::size_t> utf8_length(std::string_view text) noexcept
{
    std::size_t length = 0;
    while (!text.empty()) {
        if (take_code_point(text) == kNoCodePoint) {
            return std::nullopt;
        }
        ++length;
    }
    return length;
}

bool is_utf8(std::string_view text) noexcept
{
    while (!text.empty()) {
        std::size_t size = kWord;
        if (text.size() < kWord || (load_word(text.data()) & kHighBits) != 0) {
            size = code_point_size(text);
        }
        if (size == 0) {
            return false;
        }
        text.remove_prefix(size);
    }
    return true;
}

void append_json_string(std::string& out, std::string_view text)
{
    out.push_back('"');
    append_json_text(out, text);
    out.push_back('"');
}

void append_json_text(std::string& out, std::string_view text)
{
    const char* plain = text.data();
    const char* const end = plain + text.size();
    for (const char* p = plain; p != end; ++p) {
        while (end - p > static_cast<std::ptrdiff_t>(kWord)
               && !needs_escape(load_word(p))) {
            p += kWord;
        }
        const auto byte = static_cast<unsigned char>(*p);
        const char escape = kEscapes[byte];
        if (escape == 0) {
            continue;
        }
        out.append(plain, p);
        plain = p + 1;
        if (escape == 'u') {
            const char code[] = {'\\',
                                 'u',
                                 '0',
                                 '0',
                                 kHexDigits[byte >> 4],
                                 kHexDigits[byte & 0xF]};
            out.append(code, sizeof(code));
        } else {
            const char code[] = {'\\', escape};
            out.append(code, sizeof(code));
        }
    }
    out.append(plain, end);
}

std::optional<std::string> form_decode(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+') {
            out.push_back(' ');
        } else if (text[i] == '%') {
            const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return std::nullopt;
            }
            out.push_back(static_cast<char>(high << 4 | low));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

std::string base64url_encode(std::string_view bytes)
{
    std::string out;
    out.reserve((bytes.size() * 4 + 2) / 3);
    std::uint32_t pending = 0;
    int bits = 0;
    for (const char c : bytes) {
        pending = pending << 8 | static_cast<unsigned char>(c);
        bits += 8;
        while (bits >= 6) {
            bits -= 6;
            out.push_back(kBase64Url[pending >> bits & 0x3F]);
        }
    }
    if (bits > 0) {
        out.push_back(kBase64Url[pending << (6 - bits) & 0x3F]);
    }
    return out;
}

std::optional<std::string> base64url_decode(std::string_view text)
{
    if (text.size() % 4 == 1) {
        return std::nullopt;
    }
    std::string out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t pending = 0;
    int bits = 0;
    for (const char c : text) {
        const std::size_t value = kBase64Url.find(c);
        if (value == std::string_view::npos) {
            return std::nullopt;
        }
        pending = pending << 6 | static_cast<std::uint32_t>(value);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out.push_back(static_cast<char>(pending >> bits & 0xFF));
        }
    }
    if ((pending & ((1U << bits) - 1)) != 0) {
        return std::nullopt;
    }
    return out;
}

std::string to_hex(std::string_view bytes)
{
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(kHexDigits[byte >> 4]);
        out.push_back(kHexDigits[byte & 0xF]);
    }
    return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept
{
    const auto equal = [](char x, char y) { return lower(x) == lower(y); };
    return a.size() == b.size()
           && (a == b || std::equal(a.begin(), a.end(), b.begin(), equal));
}

bool is_alphanumeric_or(std::string_view text, std::string_view others) noexcept
{
    for (const char c : text) {
        if (!is_alphanumeric(c) && others.find(c) == std::string_view::npos) {
            return false;
        }
    }
    return !text.empty();
}

bool is_visible_ascii(std::string_view text) noexcept
{
    for (const char c : text) {
        if (c < 0x21 || c > 0x7E) {
            return false;
        }
    }
    return !text.empty();
}

std::string_view trimmed(std::string_view text) noexcept
{
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

bool has_bidi_control(std::string_view text) noexcept
{
    while (!text.empty()) {
        const char32_t point = take_code_point(text);
        if (point == kNoCodePoint) {
            text.remove_prefix(1);
        } else if (is_bidi_control(point)) {
            return true;
        }
    }
    return false;
}

}  // namespace petstore::api
