#pragma once

#include <string>
#include <string_view>

#include "../api/date.h"

namespace petstore::ctl {

// Output for people. Without a terminal, the output format never changes,
// because scripts read it.

bool is_terminal(int fd) noexcept;

// Whether standard output shows colours: on a terminal, unless NO_COLOR is set
// (https://no-color.org) or TERM is "dumb".
bool shows_colours() noexcept;

std::string bold(std::string_view text);

// Green, yellow or red for words such as "ok", "warning" and "wrong".
std::string coloured(std::string_view word);

// "3 days ago", "in 5 months"
std::string relative_time(api::UnixTime time, api::UnixTime now);

// Asks on standard error and reads a line; true if it begins with y.
bool confirm(const std::string& question);

}  // namespace petstore::ctl
