#include "words.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "../../api/text.h"

namespace petstore::ctl {

namespace {

// Keys made by petstorectl have 58 characters; imported keys rarely have fewer
// than this.
constexpr std::size_t kMinToken = 16;

bool is_token(char c) noexcept
{
    return api::is_alphanumeric(c) || c == '_' || c == '-';
}

// Edit distance: insertions, deletions, substitutions, and transpositions of
// neighbours.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before;
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        above[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = a[i - 1] == b[j - 1];
            row[j] = std::min(
                {above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2]
                && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before = above;
        above = row;
    }
    return above[b.size()];
}

}  // namespace

bool may_repeat_path(std::string_view path) noexcept
{
    std::size_t run = 0;
    for (const char c : path) {
        if (!is_token(c) && c != '/' && c != '.') {
            return false;
        }
        run = is_token(c) ? run + 1 : 0;
        if (run >= kMinToken) {
            return false;
        }
    }
    return true;
}

std::string cannot_open(const std::string& path)
{
    const char* const reason = std::strerror(errno);
    return "cannot open " + (may_repeat_path(path) ? path : "the file") + ": "
           + reason;
}

bool contains_ignoring_case(std::string text, std::string part)
{
    std::transform(text.begin(), text.end(), text.begin(), api::lower);
    std::transform(part.begin(), part.end(), part.begin(), api::lower);
    return text.find(part) != std::string::npos;
}

std::string_view closest(std::string_view word,
                         const std::vector<std::string>& candidates)
{
    // Tolerate two mistakes in a long word, one in a short one.
    const std::size_t most = word.size() > 4 ? 2 : 1;
    std::string_view best;
    std::size_t least = most + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t edits = distance(word, candidate);
        if (edits < least) {
            best = candidate;
            least = edits;
        }
    }
    return best;
}

}  // namespace petstore::ctl
