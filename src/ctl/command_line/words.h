#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace petstore::ctl {

// How error messages refer to a word on the command line. Any word may be a
// misplaced API key, and messages end up in logs.

// Whether `path` consists only of ordinary names that are shorter than a
// typical API key.
bool may_repeat_path(std::string_view path) noexcept;

// What to report after an attempt to open `path` has failed with errno.
std::string cannot_open(const std::string& path);

// In ASCII.
bool contains_ignoring_case(std::string text, std::string part);

// The closest candidate; empty if none is close enough.
std::string_view closest(std::string_view word,
                         const std::vector<std::string>& candidates);

}  // namespace petstore::ctl
