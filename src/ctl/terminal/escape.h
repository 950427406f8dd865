#pragma once

#include <string>
#include <string_view>

namespace petstore::ctl {

// Text of unknown origin on a terminal: anybody may have written what Redis
// holds, and a terminal obeys control characters.

// Whether a terminal would interpret the code point: C0, DEL, C1 and the
// bidirectional controls, which reorder the text around them.
bool is_terminal_control(char32_t point) noexcept;

// Moves the first code point of `text`, which must not be empty, to the end of
// `out`: terminal controls as "\u009b", which is also their form in JSON, and
// bytes that are not UTF-8 as "\xff".
void take_escaped(std::string_view& text, std::string& out);

// `text` in one line.
std::string escaped(std::string_view text);

}  // namespace petstore::ctl
