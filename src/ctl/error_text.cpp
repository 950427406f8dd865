#include "error_text.h"

#include <algorithm>

namespace petstore::ctl {

std::string error_text(const redis::Reply& error)
{
    constexpr std::size_t kMost = 200;
    std::string text(error.text().substr(0, kMost));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; },
        '?');
    return text;
}

}  // namespace petstore::ctl
