#include "escape.h"

#include <cstdio>

#include "../../api/utf8.h"

namespace petstore::ctl {

namespace {

void append_hex(std::string& out, const char* format, unsigned value)
{
    char text[16];
    std::snprintf(text, sizeof(text), format, value);
    out += text;
}

}  // namespace

bool is_terminal_control(char32_t point) noexcept
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0)
           || api::is_bidi_control(point);
}

void take_escaped(std::string_view& text, std::string& out)
{
    const std::string_view before = text;
    const char32_t point = api::take_code_point(text);
    if (point == api::kNoCodePoint) {
        append_hex(out, "\\x%02x", static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
    } else if (is_terminal_control(point)) {
        append_hex(out, "\\u%04x", static_cast<unsigned>(point));
    } else {
        out += before.substr(0, before.size() - text.size());
    }
}

std::string escaped(std::string_view text)
{
    std::string safe;
    while (!text.empty()) {
        take_escaped(text, safe);
    }
    return safe;
}

}  // namespace petstore::ctl
