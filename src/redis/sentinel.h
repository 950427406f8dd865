#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "command.h"
#include "reply.h"
#include "server_address.h"

namespace petstore::redis {

// Asks for the address of the primary that Sentinels monitor as `name`, which
// must outlive the command.
Command primary_address_request(std::string_view name);

// Asks for what a Sentinel knows about it, including its run ID.
Command primary_record_request(std::string_view name);

struct PrimaryAddress {
    enum class Result {
        found,
        unknown_name,  // this Sentinel monitors no such primary
        refused,       // the reply is an error
        invalid,       // not a reply of a Sentinel
    };
    Result result = Result::invalid;
    ServerAddress address;  // if found
};

// Throws std::bad_alloc.
PrimaryAddress parse_primary_address(const Reply& reply);

// The primary of a reply to primary_record_request(), with its run ID; nullopt
// if the Sentinel refuses to answer. Throws std::bad_alloc.
std::optional<ServerAddress> parse_primary_record(const Reply& reply);

// After this command, the connection accepts only PING.
Command switch_subscription();

// What a connection receives after switch_subscription().
struct SentinelMessage {
    enum class Kind {
        subscribed,
        pong,
        switched,  // `address` is the new primary's
        other,     // irrelevant: about another primary, for example
        refused,   // the reply is an error
        invalid,   // not a message of a Sentinel
    };
    Kind kind = Kind::invalid;
    ServerAddress address;
};

// `name` is the primary's. Throws std::bad_alloc.
SentinelMessage parse_sentinel_message(const Reply& reply,
                                       std::string_view name);

// Selects the Sentinel to ask next. In a round, each is asked at most once. A
// round starts after the Sentinel that was asked last, so one that is wrong or
// hangs is not asked twice in a row.
class SentinelRotation {
public:
    // `count` must be at least 1.
    explicit SentinelRotation(std::size_t count) noexcept
        : count_(count), current_(count - 1)
    {}

    // Index of the Sentinel that was asked last.
    std::size_t current() const noexcept { return current_; }

    void begin_round() noexcept { left_ = count_; }

    // Moves on. False if all were asked in this round.
    bool next() noexcept
    {
        if (left_ == 0) {
            return false;
        }
        --left_;
        current_ = (current_ + 1) % count_;
        return true;
    }

private:
    std::size_t count_;
    std::size_t current_;
    std::size_t left_ = 0;  // in this round
};

}  // namespace petstore::redis
