#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace petstore::api {

// Parses plain decimal, as JSON and URLs write an int64: optional minus sign,
// no plus, no leading zero, no "-0", nothing around it. nullopt for anything
// else, including overflow.
std::optional<std::int64_t> parse_int64(std::string_view text) noexcept;

// A port, from 1 to 65535.
std::optional<int> parse_port(std::string_view text) noexcept;

// Without the spaces and tabs around it.
std::string_view trimmed(std::string_view text) noexcept;

// The text up to the first space, or all of it; removed with that space.
std::string_view take_word(std::string_view& text) noexcept;

// C++20 has a function for this.
inline bool starts_with(std::string_view text, std::string_view prefix) noexcept
{
    return text.size() >= prefix.size()
           && std::char_traits<char>::compare(text.data(), prefix.data(),
                                              prefix.size())
                  == 0;
}

void append_int(std::string& out, std::int64_t value);

// Validates UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above
// U+10FFFF. Returns the number of code points, nullopt if invalid.
std::optional<std::size_t> utf8_length(std::string_view text) noexcept;
bool is_utf8(std::string_view text) noexcept;

// Appends `text` as a JSON string with its quotes (RFC 8259, section 7). Bytes
// above 0x7F are copied unchanged.
void append_json_string(std::string& out, std::string_view text);

// The same without the quotes.
void append_json_text(std::string& out, std::string_view text);

// Decodes one application/x-www-form-urlencoded name or value. nullopt if a
// percent sign is not followed by two hexadecimal digits.
std::optional<std::string> form_decode(std::string_view text);

// base64url without padding (RFC 4648, section 5). Decoding accepts only the
// canonical form, which encoding produces.
std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text);

std::string to_hex(std::string_view bytes);

// These know ASCII only, whatever the locale.
constexpr bool is_digit(char c) noexcept
{
    return c >= '0' && c <= '9';
}
constexpr bool is_alphanumeric(char c) noexcept
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char lower(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept;
inline bool starts_with_ignoring_case(std::string_view text,
                                      std::string_view prefix) noexcept
{
    return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Not empty, and only letters, digits and characters of `others`.
bool is_alphanumeric_or(std::string_view text,
                        std::string_view others) noexcept;

// Not empty, and only 0x21 to 0x7E.
bool is_visible_ascii(std::string_view text) noexcept;

// Whether `text` has characters that change the direction of the text around
// them. Skips invalid UTF-8.
bool has_bidi_control(std::string_view text) noexcept;

}  // namespace petstore::api
