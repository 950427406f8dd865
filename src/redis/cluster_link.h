#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string_view>
#include <vector>

#include "alarm.h"
#include "command.h"
#include "in_flight.h"
#include "link.h"
#include "redirect_policy.h"
#include "server_id.h"
#include "slot_links.h"
#include "slot_map.h"

namespace petstore::redis {

// A link to a Redis Cluster: sends each command to the primary that serves the
// slot of its routing key.
//
// If a server does not serve the slot, RedirectPolicy decides what follows from
// its error. Commands wait for the first map only during the first search; if
// that fails, they fail at once while the search continues. A command whose
// primary is unreachable fails at once unless the policy is to persist. One
// without a routing key is for any primary: it is tried on others. Nothing else
// waits or is resent.
//
// Independent of sockets and clocks; see Owner and Alarm.
class ClusterLink final : public Link, private Alarm::User {
public:
    // A worker's Cluster, or petstorectl's.
    class Owner {
    public:
        // The link to a primary; created if necessary. nullptr if out of
        // memory, or if the address is unusable.
        virtual Link* link_to(const ServerAddress& primary) noexcept = 0;

        // The map contains these primaries. Links to others may be closed once
        // nothing more is sent over them.
        virtual void
        keep(const std::vector<ServerAddress>& primaries) noexcept = 0;

        // Asks the servers for the map, one after the other. Must call exactly
        // one of on_map() and on_no_map(), possibly before this returns.
        virtual void find_map() noexcept = 0;

        virtual void queue_full() noexcept = 0;

        // A command fails with this error, after redirects and retries. Its
        // handler does not report it.
        virtual void command_failed(const Reply& error) noexcept = 0;

        // A command was not sent. Whether that may change soon, so that a
        // persistent link tries it again.
        virtual bool may_recover() const noexcept { return true; }

    protected:
        ~Owner() = default;
    };

    // Commands without a reply, over all primaries.
    static constexpr std::size_t kMaxCalls = 16'384;

    // The interval between searches for the map, and between retries of a
    // command. A persistent link must not burden a Cluster that is in trouble.
    static constexpr std::uint64_t kSearchInterval = 200;
    static constexpr std::uint64_t kRetryInterval = 10;
    static constexpr std::uint64_t kPersistentRetryInterval = 100;

    // `owner` and `alarm` are borrowed. A command fails `timeout` milliseconds
    // after send(), unless the link is persistent and has sent it: then its
    // server's link decides how long to wait. Throws std::bad_alloc.
    ClusterLink(Owner& owner, Alarm& alarm, std::uint64_t timeout,
                RedirectPolicy::Persistence persistence =
                    RedirectPolicy::Persistence::brief);
    ~ClusterLink();
    ClusterLink(const ClusterLink&) = delete;

    // Fetches the map unless it is known.
    void warm_up() noexcept;
    // nullptr before the first one.
    const SlotMap* map() const noexcept
    {
        return slots_.has_map() ? &slots_.map() : nullptr;
    }

    void send(const Command& command, ReplyHandler& handler) noexcept override;

    std::uint64_t
    connection_generation(std::string_view key) const noexcept override
    {
        return slots_.generation(key);
    }
    std::uint64_t reorderings(std::string_view key) const noexcept override
    {
        return slots_.reorderings(key);
    }
    bool is_cluster() const noexcept override { return true; }
    std::size_t group_of(std::string_view key) const noexcept override
    {
        return slots_.group_of(key);
    }
    std::vector<std::string> tags_of_primaries() const override
    {
        return slots_.tags_of_primaries();
    }

    // The results of Owner::find_map().
    void on_map(SlotMap map) noexcept;
    void on_no_map() noexcept;

    // Fails all commands that wait here, and later ones at once. Those that
    // were sent end with their links, which must be closed next.
    void close() noexcept;

private:
    class Call;

    void on_alarm() noexcept override;
    void search() noexcept;
    void route(Call& call) noexcept;
    std::uint64_t time_left(const Call& call) const noexcept;
    bool take_error(Call& call, const Reply& error) noexcept;
    void retry(Call& call) noexcept;
    void wait_for_map(Call& call) noexcept;
    void follow(Call& call, ServerAddress server, bool moved);
    void hold(Call& call) noexcept;
    template <typename Predicate>
    Call* take_held(Predicate&& predicate) noexcept;
    template <typename Predicate>
    void fail_held(Predicate&& predicate) noexcept;
    void end(Call& call) noexcept;

    // Ignores the reply to ASKING.
    class Ignore final : public ReplyHandler {
    public:
        void on_reply(const Reply&) noexcept override {}
        void on_no_reply(NoReply) noexcept override {}
    };

    Owner& owner_;
    Alarm& alarm_;
    const std::uint64_t timeout_;
    const RedirectPolicy policy_;
    const Command asking_;
    Ignore ignore_;

    SlotLinks slots_;
    bool searching_ = false;
    bool search_failed_ = false;
    bool closed_ = false;
    std::optional<std::uint64_t> searched_at_;

    InFlight<Call> calls_;

    // Calls that need the alarm, because they wait or were redirected.
    std::list<Call*> held_;
};

}  // namespace petstore::redis
