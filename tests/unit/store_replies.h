#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "redis_replies.h"
#include "store/accounts/account_state.h"

// Encodes numbers like the scripts, see account_state.h.
inline std::string encode_numbers(std::initializer_list<std::int64_t> numbers)
{
    std::string bytes;
    petstore::store::append_numbers(bytes, numbers);
    return bytes;
}

// As the scripts store it.
inline std::string encode_state(const petstore::store::AccountState& state)
{
    return encode_numbers({state.epoch, state.usual_day, state.minute_used,
                           state.minute_end, state.day_used, state.day_end,
                           state.month_used, state.ban_until, state.utc_day,
                           state.month_base});
}

// A request to limit.lua about an account.
struct Asked {
    std::int64_t epoch;
    std::int64_t per_minute;
    std::int64_t per_day;
    std::int64_t requests;
    char mode;
    std::int64_t cost = 1;
    std::int64_t per_month = petstore::store::AccountState::kLargest;
};

inline std::string asked(const std::vector<Asked>& accounts)
{
    std::string floats;
    std::string doubles;
    std::string epochs;
    std::string modes;
    bool need_doubles = false;
    bool alike = accounts.size() >= 4;
    const auto all_but_epoch = [](const Asked& one) {
        return encode_numbers({one.per_minute, one.per_day,
                               one.requests * one.cost, one.per_month,
                               one.cost});
    };
    for (const Asked& one : accounts) {
        const std::string epoch = encode_numbers({one.epoch});
        floats += epoch;
        petstore::store::append_floats(
            floats, {one.per_minute, one.per_day, one.requests});
        doubles += epoch + all_but_epoch(one);
        epochs += epoch;
        modes += one.mode;
        need_doubles =
            need_doubles || one.cost != 1
            || one.per_month != petstore::store::AccountState::kLargest;
        alike = alike && all_but_epoch(one) == all_but_epoch(accounts[0]);
    }
    if (alike) {
        return all_but_epoch(accounts[0]) + epochs + modes + '\2';
    }
    return need_doubles ? doubles + modes + '\1' : floats + modes + '\0';
}

// The trailer of limit.lua's reply.
inline std::string stamp(std::int64_t now, std::string_view count = "0",
                         std::string_view changes = "0")
{
    return encode_numbers({now}) + static_cast<char>(count.size())
           + static_cast<char>(changes.size()) + std::string(count)
           + std::string(changes);
}

// A reply of limit.lua in which not all accounts are as usual.
inline std::string limit_reply(std::vector<std::string> accounts,
                               const std::string& stamp)
{
    accounts.push_back(bulk(stamp));
    return array(accounts);
}

// limit.lua's reply about an account that is not as usual.
inline std::string answer(long long admitted, const std::string& state)
{
    return array({integer(admitted), state});
}
