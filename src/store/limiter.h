#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../api/limit.h"
#include "../resp/command.h"
#include "../resp/reply.h"
#include "schema.h"
#include "script.h"

namespace petstore::store
{

// One call decides on a request and charges both windows of its account, or
// neither. Builds commands, sends nothing.
class Limiter
{
public:
    explicit Limiter(const Schema& schema) : schema_(schema) {}

    resp::Command decide(std::string_view account, std::string_view epoch,
                         const api::Limits& limits, bool eval) const;

    // Reports `count` denials that a worker gave from memory, and asks how the
    // account stands. A verdict of `admitted` then says that nothing denies the
    // account any more; nothing was charged.
    resp::Command strike(std::string_view account, std::string_view epoch,
                         std::int64_t count, const api::Limits& limits,
                         const api::BanPolicy& policy, bool eval) const;

    struct Answer {
        enum class Result {
            decided, // decision is set
            stale,   // the account's epoch is another one: `epoch`
            invalid, // no reply of this script
        } result = Result::invalid;
        api::Decision decision;
        std::string epoch;
        std::int64_t strikes = 0; // of strike(): denials in the ban window
        bool new_ban = false;     // of strike(): this very call banned
    };
    static Answer parse(const resp::Reply& reply, const api::Limits& limits);

private:
    const Schema& schema_;
};

} // namespace petstore::store
