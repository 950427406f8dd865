#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace petstore::ctl {

// What may be said about a word of the command line that is not understood. Any
// of them can be an API key, given in the wrong place, and messages end up in
// logs.

// Whether `word` looks like a mistyped command or option: short, letters and
// dashes only. The value of an option ("--name=value") is none of it.
bool may_repeat(std::string_view word) noexcept;

// Whether `path` is one of ordinary names, none of them as long as an API key.
bool may_repeat_path(std::string_view path) noexcept;

// The candidate that `word` was most probably meant to be; empty: none.
std::string_view closest(std::string_view word,
                         const std::vector<std::string>& candidates);

}  // namespace petstore::ctl
