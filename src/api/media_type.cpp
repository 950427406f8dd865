#include "media_type.h"

#include "text.h"

namespace petstore::api {

namespace {

std::string_view trimmed(std::string_view text) noexcept
{
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool is_json_media_type(std::string_view content_type) noexcept
{
    auto end = content_type.find(';');
    if (!equals_ignoring_case(trimmed(content_type.substr(0, end)),
                              "application/json")) {
        return false;
    }

    while (end != std::string_view::npos) {
        content_type.remove_prefix(end + 1);
        end = content_type.find(';');
        const auto parameter = trimmed(content_type.substr(0, end));
        const auto equals = parameter.find('=');
        if (equals == std::string_view::npos
            || !equals_ignoring_case(parameter.substr(0, equals), "charset")) {
            continue;
        }
        auto value = parameter.substr(equals + 1);
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
            value = value.substr(1, value.size() - 2);
        }
        if (!equals_ignoring_case(value, "utf-8")) {
            return false;
        }
    }
    return true;
}

}  // namespace petstore::api
