#pragma once

#include <algorithm>
#include <cstdint>

namespace petstore::redis {

// Decides when a connection must prove that it still works: a gateway may
// forget it while it is idle, without notice to either side. Then only a check
// is written, and commands wait unsent for its reply. If none comes, they go to
// another connection. Independent of sockets and clocks: times are milliseconds
// of a monotonic clock.
class IdleCheck {
public:
    // How long a connection is trusted after its last reply.
    static constexpr std::uint64_t kTrusted = 2000;
    // How long commands wait for the reply to a check.
    static constexpr std::uint64_t kPatience = 100;
    // Idle connections are checked at random intervals between this and twice
    // this, so that gateways keep them.
    static constexpr std::uint64_t kInterval = 15000;
    static constexpr std::uint64_t interval(std::uint64_t random) noexcept
    {
        return kInterval + random % kInterval;
    }

    // A connection younger than this is not replaced without counting a
    // failure: a server may close each one at once.
    static constexpr std::uint64_t kMinAge = 1000;

    // Call for a new connection.
    void begin(std::uint64_t now) noexcept
    {
        began_at_ = now;
        heard(now);
    }

    // Call for each reply.
    void heard(std::uint64_t now) noexcept
    {
        heard_at_ = now;
        reset();
    }

    // Forgets a check that is under way. Call when the connection closes.
    void reset() noexcept
    {
        checking_ = false;
        holding_ = false;
    }

    // Whether the next command must wait for the reply to a check. `idle`: no
    // reply is due; the timeouts of written commands detect a lost connection.
    bool must_prove(std::uint64_t now, bool idle) const noexcept
    {
        return (idle || checking_) && now - heard_at_ >= kTrusted;
    }

    // A check was added, to a connection without other commands.
    void check_added() noexcept { checking_ = true; }
    bool checking() const noexcept { return checking_; }

    // Commands with this timeout wait for the reply.
    void commands_held(std::uint64_t now, std::uint64_t timeout) noexcept
    {
        holding_ = true;
        hold_until_ = now + std::min(kPatience, timeout / 2);
    }
    bool holding() const noexcept { return holding_; }
    std::uint64_t hold_until() const noexcept { return hold_until_; }

    // Whether losing the connection, on which no command was written, is no
    // failure.
    bool may_replace(std::uint64_t now) const noexcept
    {
        return now - began_at_ >= kMinAge;
    }

private:
    std::uint64_t began_at_ = 0;
    std::uint64_t heard_at_ = 0;
    std::uint64_t hold_until_ = 0;
    bool checking_ = false;  // only a check is written
    bool holding_ = false;
};

}  // namespace petstore::redis
