#include "plans_in_force.h"

#include <utility>

#include "../../redis/error_table.h"
#include "../failure.h"

namespace petstore::store {

class PlansInForce::Load final : public PlansInForce::Loads::Item,
                                 public redis::ReplyHandler {
public:
    Load(Loads& loads, NoKey, PlansInForce& owner) noexcept
        : Item(loads, NoKey()), owner_(owner), sent_(owner.clock_.monotonic())
    {}

    bool reports(const redis::Reply& error) const noexcept override
    {
        return redis::is_forbidden(error) || redis::is_wrong_type(error);
    }

    void on_reply(const redis::Reply& reply) noexcept override
    {
        try {
            owner_.take(reply, sent_);
        } catch (...) {
            owner_.answered_ = false;
        }
        resume();
    }

    void on_no_reply(redis::NoReply) noexcept override
    {
        owner_.answered_ = false;
        resume();
    }

private:
    void resume() noexcept { end(owner_.outcome()); }

    PlansInForce& owner_;
    const Monotonic sent_;
};

PlansInForce::PlansInForce(redis::Link& link, const Schema& schema,
                           const Clock& clock, const api::PlanTable& configured,
                           DamageLog& damage_log, EventLog& log)
    : link_(link), commands_(schema), clock_(clock), configured_(configured),
      damage_log_(damage_log), log_(log), table_(configured)
{}

PlansInForce::~PlansInForce() = default;

Outcome<Done> PlansInForce::outcome() const
{
    return known_ ? Outcome<Done>(Done()) : Outcome<Done>(unavailable());
}

bool PlansInForce::current() noexcept
{
    const Monotonic now = clock_.monotonic();
    if ((!known_ || now - asked_at_ >= kInterval) && loads_.size() == 0) {
        read();
    }
    return known_
           && (loads_.size() == 0 || !answered_ || now - read_at_ < kValidFor);
}

void PlansInForce::read() noexcept
{
    Load* load = nullptr;
    asked_at_ = clock_.monotonic();
    try {
        load = &loads_.start_ahead({}, *this);
        link_.send(commands_.read(), *load);  // may end it at once
    } catch (...) {
        if (load != nullptr) {
            load->on_no_reply(redis::NoReply::not_sent);
        }
        answered_ = false;
    }
}

void PlansInForce::wait(Waiter<Done>& waiter) noexcept
{
    Load* const load = loads_.find();
    if (load == nullptr) {  // has ended at once
        return waiter.on_result(outcome());
    }
    try {
        load->join(&waiter);
    } catch (...) {
        waiter.on_result(unavailable());
    }
}

void PlansInForce::read_and_wait(Waiter<Done>& waiter) noexcept
{
    if (!being_read()) {
        read();
    }
    wait(waiter);
}

// After a temporary error, the plans read last still count.
void PlansInForce::take(const redis::Reply& reply, Monotonic sent)
{
    const bool forbidden = redis::is_forbidden(reply);
    if (reply.is_error() && !forbidden && !redis::is_wrong_type(reply)) {
        answered_ = false;
        return;
    }
    if (forbidden && !forbidden_) {
        log_.report(Event::plans_forbidden);
    }
    use(forbidden ? StoredPlans() : PlanCommands::parse(reply));
    forbidden_ = forbidden;
    answered_ = true;
    known_ = true;
    read_at_ = sent;
}

void PlansInForce::use(StoredPlans stored)
{
    if (stored.is_damaged() && !std::exchange(damaged_, true)) {
        damage_log_.damaged(commands_.name());
    }
    damaged_ = stored.is_damaged();
    if (stored.plans == stored_) {
        return;
    }
    api::PlanTable table = configured_;
    for (const auto& [name, limits] : stored.plans) {
        table.set(name, limits);
    }
    stored_ = std::move(stored.plans);
    table_ = std::move(table);
    ++generation_;
}

}  // namespace petstore::store
