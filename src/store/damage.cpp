#include "damage.h"

#include "../redis/error_table.h"

namespace petstore::store {

api::Error damage_error() noexcept
{
    return {api::ErrorCode::internal_error, "Stored data are damaged."};
}

std::string_view damaged_key(const redis::Reply& reply) noexcept
{
    constexpr std::string_view kDamaged = "DAMAGED ";
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:{}";
    const std::string_view text = reply.text();
    if (!reply.is_error() || text.substr(0, kDamaged.size()) != kDamaged) {
        return {};
    }
    const std::string_view key = text.substr(kDamaged.size());
    return key.substr(0, key.find_first_not_of(kAllowed));
}

std::string Damage::message() const
{
    return "the Redis key " + std::string(key) + " is damaged"
           + (other_type ? ": it holds another type; repair it first" : "");
}

Damage damage_of(const redis::Reply& reply, std::string_view key) noexcept
{
    return redis::is_wrong_type(reply) ? Damage{key, true}
                                       : Damage{damaged_key(reply)};
}

}  // namespace petstore::store
