#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../resp/command.h"
#include "../resp/reply.h"

namespace petstore::store {

// A server's part in replication, as INFO reports it.
struct Replication {
    enum class Role {
        primary,
        replica,
        unknown,     // INFO is forbidden, or lacks the fields
        unanswered,  // an error that passes, as while a script blocks Redis
    };
    static constexpr std::size_t kIdSize = 40;

    Role role = Role::unknown;

    // Of a primary: names the history of its data. A server that was a replica
    // in between has another one. Valid as long as the reply.
    std::string_view id;
};

resp::Command info_replication();

Replication parse_replication(const resp::Reply& reply) noexcept;

// Follows the role of the server behind one connection at a time: says when to
// ask for it, and what the replies mean. Times are milliseconds of a monotonic
// clock.
class RoleWatch {
public:
    // How long answers from memory may go on after a failover, and back, that
    // did not break the connection: docs/scaling.md promises this.
    static constexpr std::uint64_t kInterval = 1000;

    // A new connection, whose handshake asks.
    void begin(std::uint64_t now) noexcept
    {
        known_ = true;
        asked_at_ = now;
    }

    // Whether to ask ahead of the next command.
    bool due(std::uint64_t now) const noexcept
    {
        return known_ && now - asked_at_ >= kInterval;
    }
    void asked(std::uint64_t now) noexcept { asked_at_ = now; }

    enum class Finding { primary, other_history, replica, unknown, unanswered };
    Finding take(const resp::Reply& reply, std::uint64_t now) noexcept;

private:
    // False once the server did not report its role: it is not asked again on
    // this connection, and counts as a primary.
    bool known_ = false;
    std::uint64_t asked_at_ = 0;
    std::array<char, Replication::kIdSize> id_{};  // the last one reported
};

}  // namespace petstore::store
