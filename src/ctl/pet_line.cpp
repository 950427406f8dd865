#include "pet_line.h"

#include <string>

#include "../api/json.h"

namespace petstore::ctl {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::size_t skip_space(std::string_view json, std::size_t at)
{
    at = json.find_first_not_of(kSpace, at);
    return at == std::string_view::npos ? json.size() : at;
}

// Behind the string that starts at `at`.
std::size_t skip_string(std::string_view json, std::size_t at)
{
    for (++at; at < json.size() && json[at] != '"'; ++at) {
        if (json[at] == '\\') {
            ++at;
        }
    }
    return at + 1;
}

// Behind the value that starts at `at`: at the comma or bracket after it.
std::size_t skip_value(std::string_view json, std::size_t at)
{
    int depth = 0;
    while (at < json.size()) {
        const char c = json[at];
        if (c == '"') {
            at = skip_string(json, at);
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}')) {
            return at;
        }
        if (c == '{' || c == '[') {
            ++depth;
        } else if (c == '}' || c == ']') {
            --depth;
        }
        ++at;
    }
    return at;
}

// Cuts the member `id` out of a JSON object that is known to be valid. What is
// left is judged by the parser of the API again, so that no rule is here twice.
std::string without_id(std::string_view json)
{
    std::size_t at = skip_space(json, 0) + 1;
    while (at < json.size()) {
        const std::size_t begin = skip_space(json, at);
        const std::size_t colon = json.find(':', skip_string(json, begin));
        if (colon == std::string_view::npos) {
            break;
        }
        const std::size_t end = skip_value(json, colon + 1);
        if (json.substr(begin, 4) == "\"id\"") {
            std::string cut(json.substr(0, begin));
            if (end < json.size() && json[end] == ',') {
                cut.append(json.substr(end + 1));
            } else {
                // The last member: the comma before it goes too.
                cut.resize(cut.find_last_not_of(kSpace) + 1);
                if (cut.back() == ',') {
                    cut.pop_back();
                }
                cut.append(json.substr(end));
            }
            return cut;
        }
        at = end + 1;
    }
    return std::string(json);
}

}  // namespace

std::variant<api::NewPet, api::Error> parse_pet_line(std::string_view line)
{
    auto parsed = api::parse_new_pet(line);
    const auto* error = std::get_if<api::Error>(&parsed);
    if (error && error->code == api::ErrorCode::read_only_field) {
        return api::parse_new_pet(without_id(line));
    }
    return parsed;
}

}  // namespace petstore::ctl
