#include "plan_publisher.h"

#include <utility>

#include "../scripts.h"

namespace petstore::store {

PlanPublisher::PlanPublisher(redis::Link& link, const Schema& schema,
                             const Clock& clock, const Host& host,
                             const api::NamedLimits& plans, PublishLog& log)
    : link_(link), name_(schema.hosts()), clock_(clock), log_(log),
      field_(host_field(host)), value_(host_json(host, plans))
{}

void PlanPublisher::publish_if_due() noexcept
{
    const bool current = published_
                         && clock_.monotonic() - published_at_ < kInterval
                         && generation_ == link_.connection_generation(name_);
    if (publishing_ || current) {
        return;
    }
    publishing_ = true;
    try {
        redis::Command command(scripts().publish_plans, 1);
        command.key(name_).arg(field_).arg(value_).arg(kHostSeconds);
        start(link_, std::move(command));
    } catch (...) {
        publishing_ = false;
    }
}

void PlanPublisher::on_result(const redis::Reply& reply) noexcept
{
    publishing_ = false;
    published_ = true;
    published_at_ = clock_.monotonic();
    generation_ = link_.connection_generation(name_);
    if (reply.is_error() && !refused_) {
        log_.plans_not_published(reply.error_code());
    }
    refused_ = reply.is_error();
    report_hosts(reply);
}

void PlanPublisher::report_hosts(const redis::Reply& hosts) const noexcept
{
    constexpr std::size_t kParts = 4;
    for (std::size_t i = 0; i + kParts <= hosts.size(); i += kParts) {
        log_.on_host_seen({hosts[i].text(), hosts[i + 1].text(),
                           hosts[i + 2].text(), hosts[i + 3].integer()});
    }
}

// Tried again with the next call.
void PlanPublisher::on_no_result(redis::NoReply) noexcept
{
    publishing_ = false;
    published_ = false;
}

}  // namespace petstore::store
