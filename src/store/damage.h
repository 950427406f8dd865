#pragma once

#include <string_view>

#include "../api/error.h"
#include "../resp/reply.h"

namespace petstore::store {

// Where data in Redis are reported that this service cannot have written.
class DamageLog {
public:
    // Names of Redis keys are built from digests and ids, so they may be
    // logged.
    virtual void damaged(std::string_view redis_key) noexcept = 0;

protected:
    ~DamageLog() = default;
};

// What the client is told.
api::Error damage_error() noexcept;

// The key that a script has found damaged: "DAMAGED <key>". Empty for any other
// reply, and cut at the first byte that is in no name of ours.
std::string_view damaged_key(const resp::Reply& reply) noexcept;

// The key of a command that names one key is of another type than ours.
bool is_wrong_type(const resp::Reply& reply) noexcept;

}  // namespace petstore::store
