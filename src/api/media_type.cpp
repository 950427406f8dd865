#include "media_type.h"

#include <algorithm>
#include <optional>

#include "text.h"

namespace petstore::api {

namespace {

// Removes and returns the part up to the first `separator` outside of quotes.
std::string_view take_part(std::string_view& rest, char separator) noexcept
{
    bool quoted = false;
    std::size_t end = 0;
    for (; end < rest.size() && (quoted || rest[end] != separator); ++end) {
        if (rest[end] == '"') {
            quoted = !quoted;
        } else if (rest[end] == '\\' && quoted && end + 1 < rest.size()) {
            ++end;
        }
    }
    const auto part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

// A weight, such as "0.5" or "1", in thousandths.
std::optional<int> parse_quality(std::string_view text) noexcept
{
    constexpr std::size_t kMaxLength = 5;  // "0.123"
    if (text.empty() || text.size() > kMaxLength
        || (text[0] != '0' && text[0] != '1')
        || (text.size() > 1 && text[1] != '.')) {
        return std::nullopt;
    }
    int quality = text[0] == '1' ? 1000 : 0;
    int unit = 100;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        quality += (c - '0') * unit;
        unit /= 10;
    }
    return quality <= 1000 ? std::optional<int>(quality) : std::nullopt;
}

// How specifically a range includes a type: 3 names it, 1 is "*/*", 0 excludes
// it.
int specificity_of(std::string_view range, std::string_view type) noexcept
{
    if (equals_ignoring_case(range, type)) {
        return 3;
    }
    const auto slash = type.find('/') + 1;
    if (range.size() == slash + 1 && range.back() == '*'
        && equals_ignoring_case(range.substr(0, slash),
                                type.substr(0, slash))) {
        return 2;
    }
    return range == "*/*" ? 1 : 0;
}

struct Preference {
    int quality = 0;
    int specificity = 0;
};

// The most specific range decides; of several equal ones, the best.
Preference preference_for(std::string_view type,
                          std::string_view accept) noexcept
{
    Preference found;
    while (!accept.empty()) {
        auto range = take_part(accept, ',');
        const int specificity =
            specificity_of(trimmed(take_part(range, ';')), type);
        std::optional<int> quality = 1000;
        while (!range.empty()) {
            const auto parameter = trimmed(take_part(range, ';'));
            if (equals_ignoring_case(parameter.substr(0, 2), "q=")) {
                quality = parse_quality(parameter.substr(2));
                break;
            }
        }
        if (!quality || specificity == 0 || specificity < found.specificity) {
            continue;
        }
        if (specificity > found.specificity || *quality > found.quality) {
            found = {*quality, specificity};
        }
    }
    return found;
}

}  // namespace

namespace {

// Without a charset other than UTF-8.
bool is_type_in_utf8(std::string_view content_type,
                     std::string_view type) noexcept
{
    if (!equals_ignoring_case(trimmed(take_part(content_type, ';')), type)) {
        return false;
    }
    while (!content_type.empty()) {
        auto value = take_part(content_type, ';');
        const bool assigned = value.find('=') != std::string_view::npos;
        const auto name = trimmed(take_part(value, '='));
        if (!assigned || !equals_ignoring_case(name, "charset")) {
            continue;
        }
        value = trimmed(value);
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
            value = value.substr(1, value.size() - 2);
        }
        if (!equals_ignoring_case(value, "utf-8")) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool is_json_media_type(std::string_view content_type) noexcept
{
    return is_type_in_utf8(content_type, "application/json");
}

bool is_merge_patch_media_type(std::string_view content_type) noexcept
{
    return is_type_in_utf8(content_type, "application/merge-patch+json");
}

bool prefers(std::string_view accept, std::string_view type,
             std::string_view other) noexcept
{
    const auto wanted = preference_for(type, accept);
    const auto rival = preference_for(other, accept);
    return wanted.quality > rival.quality
           || (wanted.quality > 0 && wanted.quality == rival.quality
               && wanted.specificity > rival.specificity);
}

}  // namespace petstore::api
