#pragma once

#include <cstdint>
#include <string_view>

#include "reply.h"
#include "server_id.h"

namespace petstore::redis {

// Decides what follows when a server of a Cluster refuses a command because it
// does not serve the slot. None of these errors is sent for a command that was
// executed, so it may be sent again. Independent of sockets and clocks.
//
// MOVED and ASK name the server to which the command must go. After
// CLUSTERDOWN, when the server does not know which one serves the slot, the
// next slot map may. After TRYAGAIN, when only some of the keys have moved, the
// command is retried until its timeout. So are our scripts, which change
// nothing then, when an undeclared key is on another server.
//
// A script sent after ASKING reports DAMAGED if such a key has not moved yet;
// it is retried, too. At any other time, DAMAGED is damage.
class RedirectPolicy {
public:
    // What happens while servers contradict each other, or none serves a slot.
    enum class Persistence {
        brief,           // commands soon fail: clients wait for them
        until_deadline,  // commands are retried
    };

    enum class Action {
        deliver,  // the error is the command's result
        follow,   // send it to `server`, which serves the slot from now on
        ask,      // send ASKING and the command to `server`, this time only
        retry,    // later, to the primary of its slot
        wait_for_map,  // then send it to the primary of its slot
        fail,  // not executed: there is no time for another attempt. Log it
    };

    struct Decision {
        Action action = Action::deliver;
        bool search = false;  // also start a search for a new map
        ServerAddress server;
    };

    // A command to which a server replied with an error.
    struct Attempt {
        std::string_view server;      // the host that replied
        std::uint64_t time_left = 0;  // in milliseconds
        int redirects = 0;            // in succession, until this attempt
        bool asking = false;          // it was sent after ASKING
        bool across_slots = false;    // see Command::is_across_slots()
        bool waited_for_map = false;  // already once
    };

    // More redirects mean that servers contradict each other.
    static constexpr int kMaxRedirects = 5;

    // In milliseconds. With no more than this left until its deadline, or for
    // short timeouts a quarter of the timeout, a command is not retried: an
    // attempt without enough time for its reply would leave the outcome in
    // doubt.
    static constexpr std::uint64_t kMinTimeForRetry = 50;

    // `timeout`: of each command, in milliseconds.
    explicit RedirectPolicy(std::uint64_t timeout,
                            Persistence persistence = Persistence::brief);

    // Throws std::bad_alloc.
    Decision decide(const Reply& error, const Attempt& attempt) const;

    bool is_persistent() const noexcept { return persistent_; }

    // Whether a command may be retried later although there is no new map, or
    // no connection to the primary. Never, unless the policy is persistent.
    bool may_retry_later(std::uint64_t time_left) const noexcept
    {
        return is_persistent() && time_left > min_time_for_retry_;
    }

    // Whether the error says that a slot, or a key of it, is elsewhere. The
    // link handles such errors and reports them if it gives up. CLUSTERDOWN and
    // DAMAGED are left to the node, because that server may be at fault.
    static bool is_about_slots(const Reply& error) noexcept;

private:
    Decision wait_for_map(const Attempt& attempt) const noexcept;

    const std::uint64_t min_time_for_retry_;
    const bool persistent_;
};

}  // namespace petstore::redis
