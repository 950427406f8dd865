#include "usage_probe.h"

#include <utility>

#include "../scripts.h"

namespace petstore::store {

UsageProbe::UsageProbe(redis::Link& link, const Schema& schema, UsageLog& log)
    : link_(link), name_(schema.usage("probe", 0, 0)), log_(log)
{}

void UsageProbe::probe_if_due() noexcept
{
    const std::uint64_t generation = link_.connection_generation(name_);
    if (probing_ || (probed_ && generation_ == generation)) {
        return;
    }
    probing_ = true;
    try {
        start(link_,
              std::move(redis::Command(scripts::probe_usage(), 1).key(name_)));
    } catch (...) {
        probing_ = false;
    }
}

// After another error, which passes or concerns all commands, it is tried again
// with the next call.
void UsageProbe::on_result(const redis::Reply& reply) noexcept
{
    const bool forbidden = reply.error_code() == "NOPERM";
    probing_ = false;
    probed_ = forbidden || !reply.is_error();
    generation_ = link_.connection_generation(name_);
    if (forbidden && !std::exchange(forbidden_, true)) {
        log_.usage_forbidden();
    }
    forbidden_ = forbidden;
}

void UsageProbe::on_no_result(redis::NoReply) noexcept
{
    probing_ = false;
    probed_ = false;
}

}  // namespace petstore::store
