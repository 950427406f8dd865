#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "date.h"
#include "key.h"

namespace petstore::api {

// A customer: owns keys, counters, bans and usage.
struct AccountRecord : OwnPlan {
    std::string id;
    std::string external_id;  // in the operator's own system; empty for none
    std::string label;
    bool disabled = false;  // refuses all of its keys
    UnixTime created = 0;
    // Came into being with a key, and is deleted with its last key.
    bool implicit = false;
    UnixTime deleted = 0;  // 0: not deleted
    // The account's epoch when the record was written; see docs/redis-keys.md.
    std::int64_t epoch = 0;
};

// 1 to 128 visible ASCII characters.
bool is_external_id(std::string_view text) noexcept;

}  // namespace petstore::api
