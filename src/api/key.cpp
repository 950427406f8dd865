#include "key.h"

#include <algorithm>

#include "text.h"

namespace petstore::api {

std::string_view refusal_name(KeyRefusal refusal) noexcept
{
    switch (refusal) {
    case KeyRefusal::none:
        return "";
    case KeyRefusal::missing:
        return "missing";
    case KeyRefusal::malformed:
        return "malformed";
    case KeyRefusal::unknown:
        return "unknown";
    case KeyRefusal::disabled:
        return "disabled";
    case KeyRefusal::expired:
        return "expired";
    }
    return "";
}

bool is_id(std::string_view text) noexcept
{
    constexpr std::size_t kMaxSize = 64;
    return !text.empty() && text.size() <= kMaxSize
           && std::all_of(text.begin(), text.end(), [](char c) {
                  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                         || (c >= '0' && c <= '9') || c == '-' || c == '_';
              });
}

bool is_last4(std::string_view text) noexcept
{
    return text.empty() || (text.size() <= 4 && is_visible_ascii(text));
}

std::optional<unsigned> parse_scopes(std::string_view text) noexcept
{
    unsigned scopes = 0;
    for (;;) {
        const std::size_t comma = text.find(',');
        const std::string_view word = text.substr(0, comma);
        if (word == "read") {
            scopes |= kScopeRead;
        } else if (word == "write") {
            scopes |= kScopeWrite;
        } else {
            return std::nullopt;
        }
        if (comma == std::string_view::npos) {
            return scopes;
        }
        text.remove_prefix(comma + 1);
    }
}

std::string_view scopes_text(unsigned scopes) noexcept
{
    switch (scopes & kScopeAll) {
    case kScopeRead:
        return "read";
    case kScopeWrite:
        return "write";
    case kScopeAll:
        return "read,write";
    default:
        return "";
    }
}

}  // namespace petstore::api
