#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "command.h"
#include "reply.h"

namespace petstore::redis {

// A server's replication role, as INFO reports it.
struct Replication {
    enum class Role {
        primary,
        replica,
        unknown,     // INFO is forbidden, or lacks the fields
        unanswered,  // a temporary error, as while a script blocks Redis
    };
    static constexpr std::size_t kIdSize = 40;

    // Instead of an id: the server must look it up.
    static constexpr std::string_view kUnknownId =
        "????????????????????????????????????????";

    Role role = Role::unknown;

    // Identifies the history of a primary's data. Changes if the server was a
    // replica in between. Valid as long as the reply.
    std::string_view id;
};

Command info_replication();

Replication parse_replication(const Reply& reply) noexcept;

// Tracks the role of the server behind one connection at a time: decides when
// to ask for it and interprets the replies. Times are milliseconds of a
// monotonic clock.
class RoleWatch {
public:
    // Bounds how long responses from memory may be outdated after the server
    // was demoted and promoted again without closing the connection, and how
    // old the replication id of a create may be. docs/scaling.md and
    // docs/redis-keys.md promise this.
    static constexpr std::uint64_t kInterval = 1000;

    // Call for a new connection, whose handshake asks for the role.
    void begin(std::uint64_t now) noexcept
    {
        known_ = true;
        asked_at_ = now;
        unanswered_ = 1;
    }

    // Whether the server reports its role, as far as is known.
    bool known() const noexcept { return known_; }

    // Whether to ask before the next command.
    bool due(std::uint64_t now) const noexcept
    {
        return known_ && now - asked_at_ >= kInterval;
    }
    void asked(std::uint64_t now) noexcept
    {
        asked_at_ = now;
        ++unanswered_;
    }

    // The server's replication id, as it reported it as a primary less than
    // kInterval ago; question marks if it did not. Dashes if it does not report
    // any.
    std::string_view id(std::uint64_t now) const noexcept;

    // Takes the reply to the oldest request.
    enum class Finding { primary, other_history, replica, unknown, unanswered };
    Finding take(const Reply& reply, std::uint64_t now) noexcept;

private:
    using Id = std::array<char, Replication::kIdSize>;

    static std::string_view text(const Id& id) noexcept
    {
        return {id.data(), id.size()};
    }

    // Whether the server reports its role. If not, it is treated as a primary
    // and not asked again on this connection.
    bool known_ = false;
    std::uint64_t asked_at_ = 0;
    std::size_t unanswered_ = 0;  // requests
    Id id_{};                     // the last one that was reported
};

}  // namespace petstore::redis
