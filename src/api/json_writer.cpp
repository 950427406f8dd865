#include "json_writer.h"

#include <array>
#include <charconv>

#include "text.h"
#include "utf8.h"

namespace petstore::api {

namespace {

void append_text(std::string& out, std::string_view text)
{
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
    if (is_utf8(text)) {
        return append_json_string(out, text);
    }
    std::string valid;
    while (!text.empty()) {
        const std::size_t size = code_point_size(text);
        valid.append(size == 0 ? kReplacement : text.substr(0, size));
        text.remove_prefix(size == 0 ? 1 : size);
    }
    append_json_string(out, valid);
}

}  // namespace

JsonWriter::JsonWriter(std::string& out, char open) : out_(out)
{
    out_.push_back(open);
}

std::string& JsonWriter::named(std::string_view name)
{
    append_text(next(), name);
    return out_.append(":");
}

std::string& JsonWriter::next()
{
    out_.append(first_ ? "" : ",");
    first_ = false;
    return out_;
}

void JsonWriter::text(std::string_view name, std::string_view value)
{
    append_text(named(name), value);
}

void JsonWriter::text_or_null(std::string_view name, std::string_view value)
{
    if (value.empty()) {
        null(name);
    } else {
        text(name, value);
    }
}

void JsonWriter::number(std::string_view name, std::int64_t value)
{
    append_int(named(name), value);
}

void JsonWriter::number_or_null(std::string_view name,
                                const std::optional<std::int64_t>& value)
{
    if (value) {
        number(name, *value);
    } else {
        null(name);
    }
}

void JsonWriter::real(std::string_view name, double value)
{
    std::array<char, 32> digits;  // the shortest form has 24 at most
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value);
    named(name).append(digits.data(), end.ptr);
}

void JsonWriter::flag(std::string_view name, bool value)
{
    named(name).append(value ? "true" : "false");
}

void JsonWriter::date_or_null(std::string_view name,
                              const std::optional<Day>& day)
{
    text_or_null(name, day ? iso_date(*day) : "");
}

}  // namespace petstore::api
