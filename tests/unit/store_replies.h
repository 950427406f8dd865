#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "redis_replies.h"
#include "store/accounts/account_state.h"

// Numbers as our scripts encode them, see account_state.h.
inline std::string encode_numbers(std::initializer_list<std::int64_t> numbers)
{
    std::string bytes;
    petstore::store::append_numbers(bytes, numbers);
    return bytes;
}

// What limit.lua replies of an account in all cases but the usual one.
inline std::string answer(long long admitted, const std::string& state)
{
    return array({integer(admitted), state});
}
