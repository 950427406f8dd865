#include "marker_reader.h"

#include "../failure.h"
#include "marked_limits.h"

namespace petstore::store {

class MarkerReader::Load final : public MarkerReader::Loads::Item,
                                 public redis::ReplyHandler {
public:
    Load(Loads& loads, NoKey, MarkerReader& owner) noexcept
        : Item(loads, NoKey()), owner_(owner)
    {}

    void on_reply(const redis::Reply& reply) noexcept override
    {
        if (reply.is_error()) {
            const Damage damage = damage_of(reply, owner_.marker_);
            if (!damage.key.empty()) {
                owner_.damage_log_.damaged(damage.key);
            }
            return fail(failure_of(reply, Purpose::read));
        }
        if (parse_limits_marker(reply.text()).elsewhere()) {
            owner_.log_.report(Event::limits_elsewhere);
            return fail(not_counted());
        }
        end(Outcome<Done>(Done()));
    }

    void on_no_reply(redis::NoReply cause) noexcept override
    {
        fail(failure_of(cause, Purpose::read));
    }

private:
    void fail(const Failure& failure) noexcept { end(Outcome<Done>(failure)); }

    MarkerReader& owner_;
};

MarkerReader::MarkerReader(redis::Link& link, redis::Scheduler& scheduler,
                           const Schema& schema, DamageLog& damage_log,
                           EventLog& log)
    : link_(link), scheduler_(scheduler), marker_(schema.limits_marker()),
      damage_log_(damage_log), log_(log)
{}

MarkerReader::~MarkerReader() = default;

void MarkerReader::confirm_here(Waiter<Done>& waiter) noexcept
{
    try {
        if (Load* load = loads_.find()) {
            return load->join(&waiter);
        }
        loads_.start({}, &waiter, *this);
    } catch (...) {
        return waiter.on_result(unavailable());
    }
    scheduler_.schedule(*this, redis::Scheduler::Stage::batch);
}

// Later requests need another command.
void MarkerReader::run() noexcept
{
    Load& load = *loads_.find();
    loads_.close();
    try {
        link_.send(redis::Command("GET").key(marker_), load);
    } catch (...) {
        load.on_no_reply(redis::NoReply::not_sent);
    }
}

}  // namespace petstore::store
