#pragma once

#include <string>
#include <string_view>

#include "../api/error.h"
#include "../redis/reply.h"

namespace petstore::store {

// Receives reports of data in Redis that this service cannot have written.
class DamageLog {
public:
    // Redis keys are built from digests and ids, so they are safe to log.
    virtual void damaged(std::string_view redis_key) noexcept = 0;

protected:
    ~DamageLog() = default;
};

// The client's error for damaged data.
api::Error damage_error() noexcept;

// The Redis key that a script reports as damaged: "DAMAGED <key>". Empty for
// any other reply. Truncated at the first byte that our Redis keys never
// contain.
std::string_view damaged_key(const redis::Reply& reply) noexcept;

struct Damage {
    std::string_view key;     // empty: no damage
    bool other_type = false;  // the key holds another type than ours

    std::string message() const;  // for the operator
};

// The damage that the reply to a command reports: of the key that damaged_key()
// returns, or, after WRONGTYPE, of the command's first key, `key`. A script
// that raises WRONGTYPE for another key must report it as DAMAGED instead.
Damage damage_of(const redis::Reply& reply, std::string_view key) noexcept;

}  // namespace petstore::store
