#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/date.h"

namespace petstore::ctl {

// Output for people. Without a terminal, the output format never changes,
// because scripts read it.

bool is_terminal(int fd) noexcept;

// The columns of the terminal that `fd` is; nullopt if it is none, or does not
// say.
std::optional<std::size_t> terminal_width(int fd) noexcept;

// The columns that `text` takes.
std::size_t width_of(std::string_view text);

// Print to standard output; without colours, the plain text.
void print_bold(std::string_view text);
// Green, yellow or red for words such as "ok", "warning" and "wrong".
void print_verdict(std::string_view word);

// "3 days ago", "in 5 months"
std::string relative_time(api::UnixTime time, api::UnixTime now);

// Asks on standard error and reads a line; true if it begins with y.
bool confirm(const std::string& question);

}  // namespace petstore::ctl
