#pragma once

#include <string>
#include <vector>

#include "store/accounts/limit_queue.h"

// A request that waits for the limiter, and its result.
struct Waiter final : petstore::store::LimitWaiter {
    using Kind = petstore::store::LimitResult::Kind;
    using NoReply = petstore::redis::NoReply;

    void on_limit_sent() noexcept override { ++sent; }
    void on_limit(const petstore::store::LimitResult& result,
                  std::int64_t index) noexcept override
    {
        ++calls;
        kind = result.kind;
        if (kind == Kind::decided) {
            const auto decision = result.decision(index);
            admitted = decision.verdict == petstore::api::Verdict::admitted;
            remaining = decision.minute.remaining();
        }
    }
    void on_limit_error(const petstore::redis::Reply& reply) noexcept override
    {
        ++calls;
        error = reply.text();
        error_code = reply.error_code();
    }
    void on_limit_no_reply(NoReply cause) noexcept override
    {
        ++calls;
        causes.push_back(cause);
    }

    int sent = 0;
    int calls = 0;
    Kind kind = Kind::invalid;
    bool admitted = false;
    std::int64_t remaining = -1;
    std::string error;  // Redis's whole message
    std::string error_code;
    std::vector<NoReply> causes;
};
