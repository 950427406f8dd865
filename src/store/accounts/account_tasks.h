#pragma once

#include <cstdint>
#include <string>

#include "../../api/date.h"
#include "../../api/limit.h"
#include "../key_servers.h"
#include "../task.h"

// What operations do with the states of accounts.

namespace petstore::store {

// By Redis's clock, which decides when a key expires.
Task<api::Millis> redis_time(const KeyServers& servers);

// Makes all workers read the account's key records again. `written` is the
// epoch of the record that was changed, 0 for none.
Task<> touch(const KeyServers& servers, const std::string& account,
             std::int64_t written);

// The same for a change that is stored, but not in effect if this fails.
Task<> announce(const KeyServers& servers, const std::string& account,
                std::int64_t written);

// A number in a reply; anything else counts as 0.
std::int64_t number_of(const redis::Reply& reply) noexcept;

redis::Command get_command(const std::string& key);

}  // namespace petstore::store
