#include "key.h"

#include <algorithm>
#include <iterator>

#include "text.h"

namespace petstore::api {

namespace {

constexpr std::string_view kRead = "read";
constexpr std::string_view kWrite = "write";

std::vector<std::string_view> split(std::string_view text)
{
    std::vector<std::string_view> names;
    for (;;) {
        const std::size_t comma = text.find(',');
        names.push_back(text.substr(0, comma));
        if (comma == std::string_view::npos) {
            return names;
        }
        text.remove_prefix(comma + 1);
    }
}

void append(std::string& names, std::string_view name)
{
    names.append(names.empty() ? "" : ",").append(name);
}

}  // namespace

std::string_view refusal_name(KeyRefusal refusal) noexcept
{
    static constexpr std::string_view kNames[] = {
        "",        "missing",  "malformed", "malformed",
        "unknown", "disabled", "expired",
    };
    static_assert(std::size(kNames)
                  == static_cast<std::size_t>(KeyRefusal::expired) + 1);
    return kNames[static_cast<std::size_t>(refusal)];
}

bool is_id(std::string_view text) noexcept
{
    constexpr std::size_t kMaxSize = 64;
    return text.size() <= kMaxSize && is_alphanumeric_or(text, "-_");
}

bool is_last4(std::string_view text) noexcept
{
    return text.empty() || (text.size() <= 4 && is_visible_ascii(text));
}

bool is_scope(std::string_view name) noexcept
{
    constexpr std::size_t kMaxSize = 64;
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyz0123456789:._-";
    return !name.empty() && name.size() <= kMaxSize
           && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool has_scope(const KeyRights& rights, std::string_view further_scopes,
               std::string_view name) noexcept
{
    if (name == kRead || name == kWrite) {
        return rights.scopes & (name == kRead ? kScopeRead : kScopeWrite);
    }
    while (!further_scopes.empty()) {
        const std::size_t comma = further_scopes.find(',');
        if (further_scopes.substr(0, comma) == name) {
            return true;
        }
        further_scopes.remove_prefix(comma == std::string_view::npos
                                         ? further_scopes.size()
                                         : comma + 1);
    }
    return false;
}

bool set_scopes(KeyRecord& key, std::string_view text)
{
    const auto names = split(text);
    if (names.size() > kMaxScopes
        || !std::all_of(names.begin(), names.end(), is_scope)) {
        return false;
    }
    key.scopes = 0;
    key.further_scopes.clear();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto seen = names.begin() + static_cast<std::ptrdiff_t>(i);
        if (names[i] == kRead) {
            key.scopes |= kScopeRead;
        } else if (names[i] == kWrite) {
            key.scopes |= kScopeWrite;
        } else if (std::find(names.begin(), seen, names[i]) == seen) {
            append(key.further_scopes, names[i]);
        }
    }
    return true;
}

std::vector<std::string_view> scope_names(const KeyRecord& key)
{
    std::vector<std::string_view> names;
    if (key.scopes & kScopeRead) {
        names.push_back(kRead);
    }
    if (key.scopes & kScopeWrite) {
        names.push_back(kWrite);
    }
    if (!key.further_scopes.empty()) {
        const auto further = split(key.further_scopes);
        names.insert(names.end(), further.begin(), further.end());
    }
    return names;
}

std::string scopes_text(const KeyRecord& key)
{
    std::string text;
    for (const std::string_view name : scope_names(key)) {
        append(text, name);
    }
    return text;
}

}  // namespace petstore::api
