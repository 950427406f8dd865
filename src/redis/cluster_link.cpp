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

// Spreads the number so that it also changes the lower half of a generation and
// never cancels out a change of the connection's own generation.
std::uint64_t mixed(std::uint32_t moves) noexcept
{
    return std::uint64_t{moves} * 0x9e3779b1;
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
    Call(ClusterLink& owner, const Command& original, ReplyHandler& handler,
         std::uint64_t deadline)
        : command(original.owned()), slot(hash_slot(command.routing_key())),
          deadline(deadline), place_(1, this), owner_(owner), handler_(&handler)
    {}

    bool has_ended() const noexcept { return handler_ == nullptr; }

    // Records that the reply may arrive after those of commands sent later.
    void out_of_order() noexcept
    {
        reordered_ = true;
        ++owner_.reorderings_[slot];
    }

    // Calls the handler; a reply may still arrive.
    void end_early(NoReply cause) noexcept
    {
        std::exchange(handler_, nullptr)->on_no_reply(cause);
    }

    void on_reply(const Reply& reply) noexcept override
    {
        if (!has_ended() && reply.is_error()) {
            if (owner_.take_error(*this, reply)) {
                return;
            }
            if (RedirectPolicy::concerns(reply) && !handler_->reports(reply)) {
                owner_.host_.gave_up(reply);
            }
        }
        if (reordered_) {
            out_of_order();  // for commands sent since
        }
        ReplyHandler* const handler = handler_;
        owner_.end(*this);
        if (handler != nullptr) {
            handler->on_reply(reply);
        }
    }

    void on_no_reply(NoReply cause) noexcept override
    {
        ReplyHandler* const handler = handler_;
        ClusterLink& owner = owner_;
        if (cause == NoReply::not_sent && !has_ended()
            && owner.policy_.persists(owner.time_left(*this))) {
            owner.search();
            owner.retry(*this);
            return;
        }
        owner.end(*this);
        owner.search();
        if (handler != nullptr) {
            handler->on_no_reply(cause);
        }
    }

    // Errors that the link handles are not logged by the node.
    bool reports(const Reply& error) const noexcept override
    {
        return RedirectPolicy::concerns(error)
               || (handler_ != nullptr && handler_->reports(error));
    }

    const Command command;
    const std::uint16_t slot;
    const std::uint64_t deadline;
    State state = State::unsent;
    std::uint64_t retry_at = 0;
    RedirectPolicy::Attempt attempt;
    std::string server;  // the host that the last redirect named

private:
    friend class ClusterLink;

    std::list<Call*> place_;  // its element is in held_ instead while held
    ClusterLink& owner_;
    ReplyHandler* handler_;  // nullptr once it was called
    bool reordered_ = false;
};

bool ClusterLink::is_unsent(const Call& call) noexcept
{
    return call.state == Call::State::unsent;
}

ClusterLink::ClusterLink(Host& host, Alarm& alarm, std::uint64_t timeout,
                         RedirectPolicy::Persistence persistence)
    : host_(host), alarm_(alarm), timeout_(timeout),
      policy_(timeout, persistence), asking_("ASKING"), moves_(kHashSlots),
      reorderings_(kHashSlots)
{}

ClusterLink::~ClusterLink() = default;

void ClusterLink::warm_up() noexcept
{
    if (!map_) {
        search();
    }
}

void ClusterLink::send(const Command& command, ReplyHandler& handler) noexcept
{
    const bool full = calls_.size() >= kMaxCalls;
    if (full) {
        host_.queue_full();
    }
    if (closed_ || full || (!map_ && gave_up_)) {
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
    if (map_) {
        route(*call);
    } else {
        hold(*call);
        search();
    }
}

std::uint64_t
ClusterLink::connection_generation(std::string_view key) const noexcept
{
    if (key.empty()) {
        std::uint64_t sum = mixed(all_moves_);
        for (const Link* link : links_) {
            sum += link != nullptr ? link->connection_generation(key) : 0;
        }
        return sum;
    }
    const std::uint16_t slot = hash_slot(key);
    const Link* const link = link_of(slot);
    return mixed(moves_[slot])
           + (link != nullptr ? link->connection_generation(key) : 0);
}

std::uint64_t ClusterLink::reorderings(std::string_view key) const noexcept
{
    return reorderings_[hash_slot(key)];
}

std::size_t ClusterLink::group_of(std::string_view key) const noexcept
{
    const auto primary = map_ ? map_->primary_of(hash_slot(key)) : std::nullopt;
    return primary ? *primary + 1 : 0;
}

// Tries numbers until each primary has one. Of a primary with very few slots,
// that may take too long; it gets none.
std::vector<std::string> ClusterLink::tags_of_primaries() const
{
    std::vector<std::string> tags;
    std::size_t missing = map_ ? map_->primaries().size() : 0;
    std::vector<bool> has_tag(missing);
    for (int number = 0; missing > 0 && number < kHashSlots; ++number) {
        std::string tag = std::to_string(number);
        const auto primary = map_->primary_of(hash_slot(tag));
        if (primary && !has_tag[*primary]) {
            has_tag[*primary] = true;
            --missing;
            tags.push_back(std::move(tag));
        }
    }
    return tags;
}

// nullptr if no server serves the slot.
Link* ClusterLink::link_of(std::uint16_t slot) const noexcept
{
    const auto primary = map_ ? map_->primary_of(slot) : std::nullopt;
    return primary ? links_[*primary] : nullptr;
}

bool ClusterLink::may_search() const noexcept
{
    return !closed_ && !searching_
           && (!searched_at_
               || reached(*searched_at_ + kSearchInterval, alarm_.now()));
}

void ClusterLink::search() noexcept
{
    if (may_search()) {
        searching_ = true;
        searched_at_ = alarm_.now();
        host_.find_map();
    }
}

void ClusterLink::on_map(SlotMap map) noexcept
{
    searching_ = false;
    try {
        take_map(std::move(map));
    } catch (...) {
        fail_unsent();
        return;
    }
    while (Call* call = find_held(is_unsent)) {
        release(*call);
        route(*call);
    }
}

void ClusterLink::on_no_map() noexcept
{
    searching_ = false;
    searched_at_ = alarm_.now();
    gave_up_ = true;
    fail_unsent();
}

void ClusterLink::take_map(SlotMap map)
{
    std::vector<Link*> links;
    for (const ServerAddress& primary : map.primaries()) {
        links.push_back(host_.link_to(primary));
    }
    for (int i = 0; map_ && i < kHashSlots; ++i) {
        const auto slot = static_cast<std::uint16_t>(i);
        const auto now = map.primary_of(slot);
        if (link_of(slot) != (now ? links[*now] : nullptr)) {
            owner_changed(slot);
        }
    }
    map_ = std::move(map);
    links_ = std::move(links);
    host_.keep(map_->primaries());
}

// Sends the call to the primary of its slot.
void ClusterLink::route(Call& call) noexcept
{
    call.state = Call::State::sent;
    call.attempt.asking = false;
    call.attempt.redirects = 0;
    if (Link* const link = link_of(call.slot)) {
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
    RedirectPolicy::Decision decision;
    try {
        decision = decide(call, error);
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
        case Action::retry:
            retry(call);
            return true;
        case Action::wait_for_map:
            return wait_for_map(call);
        case Action::fail:
            host_.gave_up(error);
            call.on_no_reply(NoReply::not_sent);
            return true;
        }
    } catch (...) {
    }
    return false;
}

RedirectPolicy::Decision ClusterLink::decide(Call& call, const Reply& error)
{
    RedirectPolicy::Attempt& attempt = call.attempt;
    attempt.server = call.server;
    if (attempt.redirects == 0) {
        const auto primary = map_->primary_of(call.slot);
        attempt.server =
            primary ? map_->primaries()[*primary].host : std::string_view();
    }
    attempt.time_left = time_left(call);
    attempt.across_slots = call.command.is_across_slots();
    return policy_.decide(error, attempt);
}

void ClusterLink::retry(Call& call) noexcept
{
    call.out_of_order();
    call.state = Call::State::retrying;
    call.retry_at = alarm_.now() + kRetryInterval;
    hold(call);
}

// Holds the call until the next map. False if none is being fetched.
bool ClusterLink::wait_for_map(Call& call) noexcept
{
    if (searching_) {
        call.attempt.waited_for_map = true;
        call.out_of_order();
        call.state = Call::State::unsent;
        hold(call);
        return true;
    }
    if (policy_.persists(time_left(call))) {
        retry(call);
        return true;
    }
    return false;
}

// `moved`: the server serves the slot from now on.
void ClusterLink::follow(Call& call, ServerAddress server, bool moved)
{
    call.server = server.host;
    server.id = map_->id_at(server);
    Link* const link = host_.link_to(server);
    if (moved && link != nullptr && link_of(call.slot) != link) {
        links_.reserve(map_->primaries().size() + 1);
        map_->move(call.slot, server);
        if (links_.size() < map_->primaries().size()) {
            links_.push_back(link);
        }
        owner_changed(call.slot);
        host_.keep(map_->primaries());
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

// Holds the call until it ends or is released.
void ClusterLink::hold(Call& call) noexcept
{
    if (held_.empty()) {
        alarm_.set(*this, alarm_.now() + kRetryInterval);
    }
    held_.splice(held_.end(), call.place_);
}

void ClusterLink::release(Call& call) noexcept
{
    if (call.place_.empty()) {
        const auto place = std::find(held_.begin(), held_.end(), &call);
        call.place_.splice(call.place_.end(), held_, place);
    }
}

template <typename Predicate>
ClusterLink::Call* ClusterLink::find_held(Predicate&& predicate) noexcept
{
    const auto found =
        std::find_if(held_.begin(), held_.end(),
                     [&](const Call* call) { return predicate(*call); });
    return found == held_.end() ? nullptr : *found;
}

void ClusterLink::on_alarm() noexcept
{
    const std::uint64_t now = alarm_.now();
    while (Call* call = find_held([now](const Call& held) {
               return reached(held.deadline, now)
                      || (held.state == Call::State::retrying
                          && reached(held.retry_at, now));
           })) {
        release(*call);
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

void ClusterLink::fail_unsent() noexcept
{
    while (Call* call = find_held(is_unsent)) {
        release(*call);
        call->on_no_reply(NoReply::not_sent);
    }
}

void ClusterLink::close() noexcept
{
    closed_ = true;
    fail_unsent();
    while (Call* call = find_held([](const Call& held) {
               return held.state == Call::State::retrying;
           })) {
        release(*call);
        call->on_no_reply(NoReply::not_sent);
    }
}

// Destroys the call.
void ClusterLink::end(Call& call) noexcept
{
    release(call);
    calls_.end(call);
}

}  // namespace petstore::redis
