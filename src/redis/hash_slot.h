#pragma once

#include <cstdint>
#include <string_view>

namespace petstore::redis {

constexpr int kHashSlots = 16384;

// The slot of a Redis Cluster that a key belongs to: CRC16 (XMODEM) of the key,
// or of its hash tag, the text between the first "{" and the next "}" unless
// that is empty.
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
std::uint16_t hash_slot(std::string_view key) noexcept;

}  // namespace petstore::redis
