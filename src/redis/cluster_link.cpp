#include "cluster_link.h"

#include <algorithm>
#include <string>
#include <utility>

namespace petstore::redis {

namespace {

bool reached(std::uint64_t time, std::uint64_t now) noexcept
{
    return static_cast<std::int64_t>(time - now) <= 0;
}

}  // namespace

// A command from send() to its reply.
class ClusterLink::Call final : public InFlight<Call>::Item,
                                public ReplyHandler {
public:
    enum class State {
        unsent,    // waits for the map
        sent,      // to a server
        retrying,  // at `retry_at`
    };

    // Throws std::bad_alloc.
    Call(ClusterLink& link, const Command& original, ReplyHandler& handler,
         std::uint64_t deadline)
        : command(original.owned()), slot(hash_slot(command.routing_key())),
          deadline(deadline), place_(1, this), link_(link), handler_(&handler)
    {}

    bool has_ended() const noexcept { return handler_ == nullptr; }
    static bool is_unsent(const Call& call) noexcept
    {
        return call.state == State::unsent;
    }

    // Records that the reply may arrive after those of commands sent later.
    void out_of_order() noexcept
    {
        reordered_ = true;
        link_.slots_.reordered(slot);
    }

    // Calls the handler; a reply may still arrive.
    void end_early(NoReply cause) noexcept
    {
        std::exchange(handler_, nullptr)->on_no_reply(cause);
    }

    void on_reply(const Reply& reply) noexcept override
    {
        if (!has_ended() && reply.is_error()) {
            if (link_.take_error(*this, reply)) {
                return;
            }
            if (RedirectPolicy::is_about_slots(reply)
                && !handler_->reports(reply)) {
                link_.owner_.command_failed(reply);
            }
        }
        if (reordered_) {
            out_of_order();  // for commands sent since
        }
        ReplyHandler* const handler = handler_;
        link_.end(*this);
        if (handler != nullptr) {
            handler->on_reply(reply);
        }
    }

    void on_no_reply(NoReply cause) noexcept override
    {
        ReplyHandler* const handler = handler_;
        ClusterLink& link = link_;
        const bool for_any = command.routing_key().empty();
        const std::uint64_t time_left = link.time_left(*this);
        if (cause == NoReply::not_sent && !has_ended()
            && (link.policy_.may_retry_later(time_left)
                || (for_any && time_left > 0))
            && link.owner_.may_recover()) {
            link.search();
            link.retry(*this);
            if (for_any) {
                slot = link.slots_.slot_elsewhere(slot);
            }
            return;
        }
        link.end(*this);
        link.search();
        if (handler != nullptr) {
            handler->on_no_reply(cause);
        }
    }

    // Errors that the link handles are not logged by the node.
    bool reports(const Reply& error) const noexcept override
    {
        return RedirectPolicy::is_about_slots(error)
               || (handler_ != nullptr && handler_->reports(error));
    }

    const Command command;
    std::uint16_t slot;
    const std::uint64_t deadline;
    State state = State::unsent;
    std::uint64_t retry_at = 0;
    RedirectPolicy::Attempt attempt;
    std::string server;  // the host that the last redirect named

private:
    friend class ClusterLink;

    std::list<Call*> place_;  // its element is in held_ instead while held
    ClusterLink& link_;
    ReplyHandler* handler_;  // nullptr once it was called
    bool reordered_ = false;
};

ClusterLink::ClusterLink(Owner& owner, Alarm& alarm, std::uint64_t timeout,
                         RedirectPolicy::Persistence persistence)
    : owner_(owner), alarm_(alarm), timeout_(timeout),
      policy_(timeout, persistence), asking_("ASKING")
{}

ClusterLink::~ClusterLink() = default;

void ClusterLink::warm_up() noexcept
{
    if (!slots_.has_map()) {
        search();
    }
}

void ClusterLink::send(const Command& command, ReplyHandler& handler) noexcept
{
    const bool full = calls_.size() >= kMaxCalls;
    if (full) {
        owner_.queue_full();
    }
    if (closed_ || full || (!slots_.has_map() && search_failed_)) {
        warm_up();
        handler.on_no_reply(NoReply::not_sent);
        return;
    }
    Call* call = nullptr;
    try {
        call = &calls_.start(*this, command, handler, alarm_.now() + timeout_);
    } catch (...) {
        handler.on_no_reply(NoReply::not_sent);
        return;
    }
    if (slots_.has_map()) {
        route(*call);
    } else {
        hold(*call);
        search();
    }
}

void ClusterLink::search() noexcept
{
    const bool due =
        !searched_at_ || reached(*searched_at_ + kSearchInterval, alarm_.now());
    if (due && !searching_ && !closed_) {
        searching_ = true;
        searched_at_ = alarm_.now();
        owner_.find_map();
    }
}

void ClusterLink::on_map(SlotMap map) noexcept
{
    searching_ = false;
    try {
        std::vector<Link*> links;
        for (const ServerAddress& primary : map.primaries()) {
            links.push_back(owner_.link_to(primary));
        }
        slots_.take(std::move(map), std::move(links));
    } catch (...) {
        fail_held(Call::is_unsent);
        return;
    }
    owner_.keep(slots_.map().primaries());
    while (Call* call = take_held(Call::is_unsent)) {
        hold(*call);  // a part of its time is over
        route(*call);
    }
}

void ClusterLink::on_no_map() noexcept
{
    searching_ = false;
    searched_at_ = alarm_.now();
    search_failed_ = true;
    fail_held(Call::is_unsent);
}

// Sends the call to the primary of its slot.
void ClusterLink::route(Call& call) noexcept
{
    call.state = Call::State::sent;
    call.attempt.asking = false;
    call.attempt.redirects = 0;
    if (Link* const link = slots_.link_of(call.slot)) {
        link->send(call.command, call);
    } else {
        call.on_no_reply(NoReply::not_sent);
    }
}

std::uint64_t ClusterLink::time_left(const Call& call) const noexcept
{
    const std::uint64_t now = alarm_.now();
    return closed_ || reached(call.deadline, now) ? 0 : call.deadline - now;
}

// Handles an error reply. False if the caller must end the call with it.
bool ClusterLink::take_error(Call& call, const Reply& error) noexcept
{
    using Action = RedirectPolicy::Action;
    RedirectPolicy::Attempt& attempt = call.attempt;
    attempt.server = attempt.redirects == 0 ? slots_.host_of(call.slot)
                                            : std::string_view(call.server);
    attempt.time_left = time_left(call);
    attempt.across_slots = call.command.is_across_slots();
    try {
        auto decision = policy_.decide(error, attempt);
        if (decision.search) {
            search();
        }
        switch (decision.action) {
        case Action::deliver:
            return false;
        case Action::follow:
        case Action::ask:
            follow(call, std::move(decision.server),
                   decision.action == Action::follow);
            return true;
        case Action::wait_for_map:
            if (searching_) {
                wait_for_map(call);
                return true;
            }
            if (!policy_.may_retry_later(attempt.time_left)) {
                return false;
            }
            retry(call);
            return true;
        case Action::retry:
            retry(call);
            return true;
        case Action::fail:
            owner_.command_failed(error);
            call.on_no_reply(NoReply::not_sent);
            return true;
        }
    } catch (...) {
        // Out of memory.
    }
    return false;
}

void ClusterLink::retry(Call& call) noexcept
{
    call.out_of_order();
    call.state = Call::State::retrying;
    call.retry_at =
        alarm_.now()
        + (policy_.is_persistent() ? kPersistentRetryInterval : kRetryInterval);
    hold(call);
}

void ClusterLink::wait_for_map(Call& call) noexcept
{
    call.attempt.waited_for_map = true;
    call.out_of_order();
    call.state = Call::State::unsent;
    hold(call);
}

// `moved`: the server serves the slot from now on.
void ClusterLink::follow(Call& call, ServerAddress server, bool moved)
{
    call.server = server.host;
    server.id = slots_.map().id_at(server);
    Link* const link = owner_.link_to(server);
    if (moved && link != nullptr && slots_.link_of(call.slot) != link) {
        slots_.move(call.slot, server, *link);
        owner_.keep(slots_.map().primaries());
    }
    // Nothing throws from here on.
    ++call.attempt.redirects;
    call.attempt.asking = !moved;
    call.out_of_order();
    hold(call);
    if (link == nullptr) {
        call.on_no_reply(NoReply::not_sent);
        return;
    }
    if (!moved) {
        link->send(asking_, ignore_);
    }
    link->send(call.command, call);
}

// Holds the call until it ends or is taken.
void ClusterLink::hold(Call& call) noexcept
{
    if (held_.empty()) {
        alarm_.set(*this, alarm_.now() + kRetryInterval);
    }
    held_.splice(held_.end(), call.place_);
}

// A held call, which is no longer held; nullptr if there is none like this.
template <typename Predicate>
ClusterLink::Call* ClusterLink::take_held(Predicate&& predicate) noexcept
{
    const auto found =
        std::find_if(held_.begin(), held_.end(),
                     [&](const Call* call) { return predicate(*call); });
    if (found == held_.end()) {
        return nullptr;
    }
    Call* const call = *found;
    call->place_.splice(call->place_.end(), held_, found);
    return call;
}

void ClusterLink::on_alarm() noexcept
{
    const std::uint64_t now = alarm_.now();
    while (Call* call = take_held([&](const Call& held) {
               const bool is_sent = held.state == Call::State::sent;
               return (reached(held.deadline, now)
                       && !(is_sent && policy_.is_persistent()))
                      || (held.state == Call::State::retrying
                          && reached(held.retry_at, now));
           })) {
        if (!reached(call->deadline, now)) {
            hold(*call);
            route(*call);
        } else if (call->state != Call::State::sent) {
            call->on_no_reply(NoReply::not_sent);
        } else if (!call->has_ended()) {
            call->end_early(NoReply::in_doubt);
        }
    }
    if (held_.empty()) {
        alarm_.stop();
    } else {
        alarm_.set(*this, now + kRetryInterval);
    }
}

template <typename Predicate>
void ClusterLink::fail_held(Predicate&& predicate) noexcept
{
    while (Call* call = take_held(predicate)) {
        call->on_no_reply(NoReply::not_sent);
    }
}

void ClusterLink::close() noexcept
{
    closed_ = true;
    fail_held([](const Call& held) { return held.state != Call::State::sent; });
}

// Destroys the call.
void ClusterLink::end(Call& call) noexcept
{
    if (call.place_.empty()) {
        held_.erase(std::find(held_.begin(), held_.end(), &call));
    }
    calls_.end(call);
}

}  // namespace petstore::redis
