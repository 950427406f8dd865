#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "redis_replies.h"
#include "store/accounts/account_state.h"

// Numbers as our scripts encode them, see account_state.h.
inline std::string encode_numbers(std::initializer_list<std::int64_t> numbers)
{
    std::string bytes;
    petstore::store::append_numbers(bytes, numbers);
    return bytes;
}

// What limit.lua is asked about an account.
struct Asked {
    std::int64_t epoch;
    std::int64_t per_minute;
    std::int64_t per_day;
    std::int64_t requests;
    char mode;
};

inline std::string asked(const std::vector<Asked>& accounts)
{
    std::string packed;
    for (const Asked& one : accounts) {
        packed += encode_numbers(
            {one.epoch, one.per_minute, one.per_day, one.requests});
    }
    for (const Asked& one : accounts) {
        packed += one.mode;
    }
    return packed;
}

// How a reply of limit.lua ends.
inline std::string stamp(std::int64_t now, std::string_view last_id = "0",
                         std::string_view changes = "0")
{
    return encode_numbers({now}) + static_cast<char>(last_id.size())
           + static_cast<char>(changes.size()) + std::string(last_id)
           + std::string(changes);
}

// A reply of limit.lua about accounts of which one is not as usual.
inline std::string limit_reply(std::vector<std::string> accounts,
                               const std::string& stamp)
{
    accounts.push_back(bulk(stamp));
    return array(accounts);
}

// What limit.lua replies of an account that is not as usual.
inline std::string answer(long long admitted, const std::string& state)
{
    return array({integer(admitted), state});
}
