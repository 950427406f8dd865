#include "usage_probe.h"

#include <utility>

#include "../../redis/error_table.h"

namespace petstore::store {

namespace {

constexpr std::int64_t kProbeMillis = 10'000;

}  // namespace

UsageProbe::UsageProbe(redis::Link& link, const Schema& schema, EventLog& log)
    : link_(link), name_(schema.usage("probe", 0, 0)), log_(log)
{}

void UsageProbe::probe_if_due() noexcept
{
    const std::uint64_t generation = link_.connection_generation(name_);
    if (pending_ != 0 || (probed_ && generation_ == generation)) {
        return;
    }
    failed_ = refused_ = false;
    pending_ = 3;
    try {
        // Not by a script, whose errors do not name a missing rule.
        redis::Command count("HINCRBY");
        count.key(name_).arg("probe").arg(std::int64_t{1});
        redis::Command expire("PEXPIRE");
        expire.key(name_).arg(kProbeMillis);
        redis::Command read("HGETALL");
        read.key(name_);
        link_.send(count, *this);
        link_.send(expire, *this);
        link_.send(read, *this);
    } catch (...) {
        failed_ = true;
        pending_ = 0;
    }
}

bool UsageProbe::reports(const redis::Reply& error) const noexcept
{
    return redis::is_forbidden(error);
}

void UsageProbe::on_reply(const redis::Reply& reply) noexcept
{
    refused_ |= redis::is_forbidden(reply);
    failed_ |= reply.is_error() && !redis::is_forbidden(reply);
    end();
}

void UsageProbe::on_no_reply(redis::NoReply) noexcept
{
    failed_ = true;
    end();
}

// After another error, which passes or concerns all commands, it is tried again
// with the next call.
void UsageProbe::end() noexcept
{
    if (--pending_ != 0) {
        return;
    }
    probed_ = !failed_;
    generation_ = link_.connection_generation(name_);
    if (refused_ && !std::exchange(reported_, true)) {
        log_.report(Event::usage_forbidden);
    }
    reported_ = refused_ || (failed_ && reported_);
}

}  // namespace petstore::store
