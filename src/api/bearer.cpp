#include "bearer.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "text.h"

namespace petstore::api {
namespace {

constexpr std::string_view kScheme = "Bearer";
constexpr std::string_view kBase62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kRandomDigits = 43;
constexpr std::size_t kCheckDigits = 6;

constexpr std::array<bool, 256> make_base62_set()
{
    std::array<bool, 256> set{};
    for (const char c : kBase62) {
        set[static_cast<unsigned char>(c)] = true;
    }
    return set;
}

constexpr std::array<bool, 256> kIsBase62 = make_base62_set();

// Branch-free: on random digits, a branch per character would be mispredicted.
bool is_base62(std::string_view text) noexcept
{
    bool all = true;
    for (const char c : text) {
        all = all & kIsBase62[static_cast<unsigned char>(c)];
    }
    return all;
}

using RandomDigits = std::array<char, kRandomDigits>;

// Encodes the 256 bits as one number, most significant digit first. 43 digits
// suffice: 62^43 > 2^256.
RandomDigits base62_of(Digest number) noexcept
{
    RandomDigits digits{};
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
        unsigned remainder = 0;
        for (unsigned char& byte : number) {
            const unsigned part = remainder << 8 | byte;
            byte = static_cast<unsigned char>(part / kBase62.size());
            remainder = part % kBase62.size();
        }
        *digit = kBase62[remainder];
    }
    return digits;
}

std::array<char, kCheckDigits> check_digits(std::string_view text) noexcept
{
    unsigned long crc = crc32(0, reinterpret_cast<const Bytef*>(text.data()),
                              static_cast<uInt>(text.size()));
    std::array<char, kCheckDigits> digits{};
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
        *digit = kBase62[crc % kBase62.size()];
        crc /= kBase62.size();
    }
    return digits;
}

bool has_issued_form(std::string_view token, std::string_view prefix) noexcept
{
    return token.size() == prefix.size() + 1 + kRandomDigits + kCheckDigits
           && token.substr(0, prefix.size()) == prefix
           && token[prefix.size()] == '_'
           && is_base62(token.substr(prefix.size() + 1));
}

}  // namespace

std::optional<std::string_view>
bearer_token(std::string_view authorization) noexcept
{
    // White space around a field value is not part of it (RFC 9110, section
    // 5.5), but nginx leaves some: a tab before it, and in HTTP/2 any.
    authorization = trimmed(authorization);
    if (authorization.size() <= kScheme.size()
        || authorization[kScheme.size()] != ' '
        || !starts_with_ignoring_case(authorization, kScheme)) {
        return std::nullopt;
    }
    return authorization.substr(
        authorization.find_first_not_of(' ', kScheme.size()));
}

std::string challenge(std::string_view realm)
{
    return "Bearer realm=\"" + std::string(realm) + '"';
}

std::string challenge_to_key(std::string_view realm)
{
    return challenge(realm) + ", error=\"invalid_token\"";
}

std::string missing_key_message(std::string_view header)
{
    std::string message =
        "An API key is required: \"Authorization: Bearer <API_KEY>\"";
    if (!header.empty()) {
        message.append(" or \"").append(header).append(": <API_KEY>\"");
    }
    return message + '.';
}

KeyForm key_form(std::string_view token, std::string_view prefix) noexcept
{
    if (token.size() > kMaxKeyLength) {
        return KeyForm::malformed;
    }
    if (!has_issued_form(token, prefix)) {
        return is_visible_ascii(token) ? KeyForm::imported : KeyForm::malformed;
    }
    const std::size_t checked = token.size() - kCheckDigits;
    const auto check = check_digits(token.substr(0, checked));
    return std::equal(check.begin(), check.end(), token.begin() + checked)
               ? KeyForm::issued
               : KeyForm::malformed;
}

std::string make_key(std::string_view prefix, const Digest& random)
{
    const RandomDigits digits = base62_of(random);
    std::string key;
    key.reserve(prefix.size() + 1 + kRandomDigits + kCheckDigits);
    key.append(prefix).push_back('_');
    key.append(digits.data(), digits.size());
    const auto check = check_digits(key);
    key.append(check.data(), check.size());
    return key;
}

std::string base62_id(const Digest& random, std::size_t count)
{
    const RandomDigits digits = base62_of(random);
    return {digits.data(), std::min(count, digits.size())};
}

}  // namespace petstore::api
