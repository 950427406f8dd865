#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "command.h"
#include "reply.h"
#include "server_id.h"

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

// The primary that the Sentinels name. Times are milliseconds of a monotonic
// clock.
class KnownPrimary {
public:
    // Failovers take longer. A Sentinel that reports them more often is broken.
    static constexpr std::uint64_t kBetweenSwitches = 1000;

    // Valid if answers() > 0.
    const ServerAddress& address() const noexcept { return address_; }
    std::uint64_t answers() const noexcept { return answers_; }

    // Whether an answer with this primary would be news.
    bool is_news(const ServerAddress& primary) const noexcept;

    // A Sentinel names it.
    void take(ServerAddress&& primary) noexcept;

    // A Sentinel reports a failover to it. False if that comes too soon after
    // another one.
    bool take_switch(ServerAddress&& primary, std::uint64_t now) noexcept;

    // Whether it is another one than at the last call.
    bool has_changed() noexcept { return std::exchange(changed_, false); }

private:
    ServerAddress address_;
    std::uint64_t answers_ = 0;
    bool changed_ = false;
    std::optional<std::uint64_t> switched_at_;
};

}  // namespace petstore::redis
