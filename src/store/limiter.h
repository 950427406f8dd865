#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../api/limit.h"
#include "../resp/command.h"
#include "../resp/reply.h"
#include "schema.h"
#include "script.h"
#include "version.h"

namespace petstore::store {

// One call decides on requests of some accounts and charges both windows of
// each, or neither. Builds commands, sends nothing.
class Limiter {
public:
    explicit Limiter(const Schema& schema);

    // What is asked of one account.
    struct Question {
        std::string_view account;
        std::int64_t epoch = 0;
        api::Limits limits;
        std::int64_t requests = 1;
        // The key's record was read a moment ago: an account of which Redis
        // knows nothing is a new one, not one that was lost.
        bool fresh = false;
    };
    // No two of the same account.
    resp::Command decide(const std::vector<Question>& questions,
                         bool eval) const;

    struct Answer {
        enum class Result {
            decided,
            stale,    // the account's epoch is another one: `epoch`
            damaged,  // the account's state is none
            invalid,  // no reply of this script
        } result = Result::invalid;
        std::int64_t epoch = 0;
        std::int64_t admitted = 0;  // of the requests asked for, the first ones
        api::Window minute;         // after the decision
        api::Window day;
        api::Millis now = 0;
        api::Millis ban_until = 0;
        Version version;  // of the catalogue, as it was at that moment

        // What that means for one of the requests, counted from 0.
        api::Decision decision(std::int64_t index) const noexcept;
    };
    // An answer for each question.
    static std::vector<Answer>
    parse_answers(const resp::Reply& reply,
                  const std::vector<Question>& questions);

    // Reports `count` denials that a worker gave from memory, and asks how the
    // account stands.
    resp::Command strike(std::string_view account, std::int64_t epoch,
                         std::int64_t count, const api::Limits& limits,
                         const api::BanPolicy& policy, bool eval) const;

    struct Standing {
        Answer::Result result = Answer::Result::invalid;
        api::Decision decision;    // on one more request
        std::int64_t strikes = 0;  // denials in the ban's window
        bool new_ban = false;      // this very call banned
    };
    static Standing parse_standing(const resp::Reply& reply,
                                   const api::Limits& limits);

private:
    const Schema& schema_;
    const std::string last_id_;
    const std::string changes_;
};

}  // namespace petstore::store
