#pragma once

#include <string_view>

#include "../../api/text.h"

namespace petstore::store {

// What the limits marker, <prefix>:limits-place, says in one Redis.
struct MarkedLimits {
    std::string_view place;  // "here", "elsewhere", "elsewhere-from" …
    std::string_view id;     // of the store

    // No account may be created here. As in the scripts.
    bool elsewhere() const noexcept
    {
        return api::starts_with(place, "elsewhere");
    }

    // `petstorectl move` has moved the whole store from or to here, or does.
    bool moved() const noexcept
    {
        return place == "elsewhere-from" || place == "elsewhere-to";
    }
};

// The parts refer to `marker`, and are empty if it lacks them.
inline MarkedLimits parse_limits_marker(std::string_view marker) noexcept
{
    const std::string_view place = api::take_word(marker);
    return {place, marker};
}

}  // namespace petstore::store
