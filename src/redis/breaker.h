#pragma once

#include <cstdint>
#include <optional>

#include "reply.h"

namespace petstore::redis {

// Decides whether commands may be sent to a Redis that failed, and when its
// outage is over. Independent of sockets and clocks: times are milliseconds of
// a monotonic clock.
class Breaker {
public:
    // A replica answers reads, so once a write was refused, a connection must
    // be this old before a reply counts as the end of the outage.
    static constexpr std::uint64_t kProbation = 1000;

    // When to reconnect after a failure.
    enum class Retry {
        at_once,  // the server worked until now
        after_backoff,
    };

    // While open, commands fail at once.
    bool is_open() const noexcept { return open_; }

    // Stays open until a connection completes its handshake.
    void open() noexcept { open_ = true; }

    // A connection, or an attempt to connect to any address, failed. Only the
    // first failure of an outage may be retried at once; any other opens the
    // breaker. Returns whether to reconnect after a back-off.
    bool failed(Retry retry, std::uint64_t now) noexcept;

    // Consecutive failures since the last recovery.
    unsigned failures() const noexcept { return failures_; }

    // A handshake is complete. Closes the breaker, but ends no outage: a server
    // that accepts connections may still refuse every command.
    void connected(std::uint64_t now) noexcept
    {
        open_ = false;
        connected_at_ = now;
    }

    // The server refused a write, as replicas do.
    void write_refused() noexcept { write_refused_ = true; }

    // Takes the reply to a command. If it ends an outage, returns the
    // milliseconds from the first failure to the last handshake.
    std::optional<std::uint64_t> on_reply(const Reply& reply,
                                          std::uint64_t now) noexcept;

    // Ends the outage without a reply, because the connection has stayed open
    // for IdleCheck::kInterval: a later failure begins another outage. Returns
    // the same as on_reply().
    std::optional<std::uint64_t> end_outage() noexcept;

private:
    bool shows_recovery(const Reply& reply, std::uint64_t now) const noexcept;

    bool open_ = false;
    bool write_refused_ = false;  // in this outage
    unsigned failures_ = 0;
    std::uint64_t failed_at_ = 0;  // the first of failures_
    std::uint64_t connected_at_ = 0;
};

}  // namespace petstore::redis
