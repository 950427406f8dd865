#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "../../redis/link.h"
#include "../../redis/server_id.h"
#include "../clock.h"
#include "../event_log.h"
#include "../store_links.h"

namespace petstore::store {

// The link to a limit Redis, if it is another Redis than the main one. Two
// stores with one prefix may have been given one limit Redis by mistake, where
// each would charge accounts of the other. So the link compares the ids in
// <prefix>:limits-place of both before the first command over a new connection,
// and before the first one after another replication history, which may be that
// of another server. Commands wait for that. If the ids differ, none is sent.
//
// If one side has no id, or may not be read, there is nothing to compare. While
// the main Redis does not answer, its last known id counts: commands that need
// only the limit Redis must not wait for it. If the limits are in a Cluster, so
// does theirs, because one of its servers has the marker.
class LimitsLink final : public redis::Link {
public:
    // Ids that differed are compared again after this many milliseconds, as is
    // an id that could not be read, if the last one counts.
    static constexpr Monotonic kInterval = 1000;

    // Borrows all but `marker`, the name <prefix>:limits-place.
    LimitsLink(const Links& redis, std::string marker, const Clock& clock,
               EventLog& log);
    LimitsLink(const LimitsLink&) = delete;

    void send(const redis::Command& command,
              redis::ReplyHandler& handler) noexcept override;

    std::uint64_t
    connection_generation(std::string_view key) const noexcept override
    {
        return limit_redis_.link.connection_generation(key);
    }
    std::uint64_t reorderings(std::string_view key) const noexcept override
    {
        return limit_redis_.link.reorderings(key);
    }
    bool is_cluster() const noexcept override
    {
        return limit_redis_.link.is_cluster();
    }
    std::size_t group_of(std::string_view key) const noexcept override
    {
        return limit_redis_.link.group_of(key);
    }
    std::vector<std::string> tags_of_primaries() const override
    {
        return limit_redis_.link.tags_of_primaries();
    }

private:
    // A Redis, and the id in its marker.
    struct Side final : redis::ReplyHandler {
        Side(LimitsLink& made_for, redis::Link& to) noexcept
            : owner(made_for), link(to)
        {}

        void on_reply(const redis::Reply& reply) noexcept override;
        void on_no_reply(redis::NoReply cause) noexcept override;
        bool reports(const redis::Reply& error) const noexcept override;

        // Whether the id is that of the present connection.
        bool is_current() const noexcept;
        bool is_due() const noexcept;

        LimitsLink& owner;
        redis::Link& link;
        bool asking = false;
        std::uint64_t generation = 0;  // of the connection that was asked
        Monotonic asked_at = 0;
        bool asked = false;  // at all, with any result
        bool known = false;  // by a reply over that connection
        bool ever_known = false;
        redis::ServerId id;  // the last one known; empty for none
    };

    struct Held {
        redis::Command command;
        redis::ReplyHandler* handler;
    };

    void compare_first(const redis::Command& command,
                       redis::ReplyHandler& handler) noexcept;
    void pass_on(const redis::Command& command,
                 redis::ReplyHandler& handler) noexcept;
    bool may_use_last_limits_id() const noexcept;
    bool is_waiting() const noexcept;
    void ask(Side& side) noexcept;
    void compare() noexcept;
    template <typename Call>
    void release(Call&& call) noexcept;

    const std::string marker_;
    const Clock& clock_;
    EventLog& log_;
    Side limit_redis_;
    Side main_;
    bool foreign_ = false;
    bool forbidden_ = false;  // reported
    std::list<Held> held_;
};

}  // namespace petstore::store
