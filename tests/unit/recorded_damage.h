#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/damage.h"

// Records the reported Redis keys.
struct RecordedDamage final : petstore::store::DamageLog {
    void damaged(std::string_view redis_key) noexcept override
    {
        keys.emplace_back(redis_key);
    }
    std::vector<std::string> keys;
};
