#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace petstore::ctl {

// Decides what an error message may repeat of an unknown word on the command
// line. Any word may be a misplaced API key, and messages end up in logs.

// Whether `word` looks like a mistyped command or option: short, lower-case
// letters and dashes only. Pass options without their value.
bool may_repeat(std::string_view word) noexcept;

// Whether `path` has only ordinary names, all shorter than an API key.
bool may_repeat_path(std::string_view path) noexcept;

// The closest candidate; empty if none is close enough.
std::string_view closest(std::string_view word,
                         const std::vector<std::string>& candidates);

}  // namespace petstore::ctl
