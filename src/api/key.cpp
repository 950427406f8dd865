#include "key.h"

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
