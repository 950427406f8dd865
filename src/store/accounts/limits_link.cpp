#include "limits_link.h"

#include <utility>

#include "../../redis/error_table.h"
#include "marked_limits.h"

namespace petstore::store {

LimitsLink::LimitsLink(const Links& redis, std::string marker,
                       const Clock& clock, EventLog& log)
    : marker_(std::move(marker)), clock_(clock), log_(log),
      limit_redis_(*this, redis.accounts), main_(*this, redis.main)
{}

bool LimitsLink::Side::is_current() const noexcept
{
    return known && generation == link.connection_generation(owner.marker_);
}

// Whether to ask, if the id is not current.
bool LimitsLink::Side::is_due() const noexcept
{
    return !asking
           && (!asked || generation != link.connection_generation(owner.marker_)
               || owner.clock_.monotonic() - asked_at >= kInterval);
}

void LimitsLink::send(const redis::Command& command,
                      redis::ReplyHandler& handler) noexcept
{
    if (limit_redis_.is_current() && main_.is_current() && !foreign_) {
        limit_redis_.link.send(command, handler);
    } else {
        compare_first(command, handler);
    }
}

void LimitsLink::compare_first(const redis::Command& command,
                               redis::ReplyHandler& handler) noexcept
{
    const bool again = foreign_ && limit_redis_.is_due();
    const bool asks_limits = (may_use_last_limits_id() ? limit_redis_.is_due()
                                                       : !limit_redis_.asking)
                             && (again || !limit_redis_.is_current());
    const bool asks_main = main_.is_due() && (again || !main_.is_current());
    const bool holds = (asks_limits && !may_use_last_limits_id())
                       || is_waiting() || !main_.asked;
    if (holds) {
        try {
            held_.push_back({command.owned(), &handler});
        } catch (...) {
            return handler.on_no_reply(redis::NoReply::not_sent);
        }
    }
    // Either may end at once, which concerns no other command: if any was held
    // before, the limit Redis has been asked already.
    if (asks_main) {
        ask(main_);
    }
    if (asks_limits) {
        ask(limit_redis_);
    }
    if (!holds) {
        pass_on(command, handler);
    }
}

void LimitsLink::pass_on(const redis::Command& command,
                         redis::ReplyHandler& handler) noexcept
{
    if (foreign_) {
        handler.on_no_reply(redis::NoReply::not_sent);
    } else {
        limit_redis_.link.send(command, handler);
    }
}

// In a Cluster, the server with the marker is one of many: while it is away,
// commands for the others must not wait for it.
bool LimitsLink::may_use_last_limits_id() const noexcept
{
    return limit_redis_.ever_known && !foreign_
           && limit_redis_.link.is_cluster();
}

bool LimitsLink::is_waiting() const noexcept
{
    return (limit_redis_.asking && !may_use_last_limits_id())
           || (main_.asking && (foreign_ || !main_.asked));
}

void LimitsLink::ask(Side& side) noexcept
{
    side.asking = true;
    side.known = false;
    side.asked_at = clock_.monotonic();
    side.generation = side.link.connection_generation(marker_);
    try {
        side.link.send(redis::Command("GET").key(marker_), side);
    } catch (...) {
        side.on_no_reply(redis::NoReply::not_sent);
    }
}

bool LimitsLink::Side::reports(const redis::Reply& error) const noexcept
{
    return redis::is_forbidden(error);
}

void LimitsLink::Side::on_reply(const redis::Reply& reply) noexcept
{
    const bool forbidden = reply.is_error() && reports(reply);
    if (forbidden && !std::exchange(owner.forbidden_, true)) {
        owner.log_.report(Event::limits_not_compared);
    }
    // Damage is not judged here: as far as it matters, the limiter does so.
    const bool failed =
        reply.is_error() && !forbidden && !redis::is_wrong_type(reply);
    if (!failed && generation != link.connection_generation(owner.marker_)) {
        return owner.ask(*this);
    }
    asking = false;
    asked = true;
    known = !failed;
    if (known) {
        ever_known = true;
        id = reply.is_error()
                 ? redis::ServerId()
                 : redis::ServerId(parse_limits_marker(reply.text()).id);
    } else if (this == &owner.limit_redis_ && !owner.may_use_last_limits_id()) {
        owner.release([&](const Held& held) { held.handler->on_reply(reply); });
        return;
    }
    owner.compare();
}

void LimitsLink::Side::on_no_reply(redis::NoReply) noexcept
{
    asking = false;
    asked = true;
    if (this == &owner.limit_redis_ && !owner.may_use_last_limits_id()) {
        owner.release([](const Held& held) {
            held.handler->on_no_reply(redis::NoReply::not_sent);
        });
        return;
    }
    owner.compare();
}

// Once both sides have answered as far as needed.
void LimitsLink::compare() noexcept
{
    if ((!limit_redis_.known && !may_use_last_limits_id()) || is_waiting()) {
        return;
    }
    const bool foreign = limit_redis_.id.contradicts(main_.id);
    if (std::exchange(foreign_, foreign) != foreign) {
        log_.report(foreign ? Event::foreign_limits : Event::own_limits);
    }
    release([this](const Held& held) { pass_on(held.command, *held.handler); });
}

template <typename Call>
void LimitsLink::release(Call&& call) noexcept
{
    const auto held = std::exchange(held_, {});
    for (const Held& one : held) {
        call(one);
    }
}

}  // namespace petstore::store
