#include "sentinel_addresses.h"

#include <algorithm>

#include "../ngx_base/exception_border.h"

namespace petstore::ngx_redis {

SentinelAddresses::SentinelAddresses(const SentinelSettings& settings,
                                     SentinelWatch& watch, ngx_log_t* log)
    : settings_(settings), watch_(watch), log_(log),
      timer_(*this, log, ngx_base::OnExit::cancel)
{
    watch.add(*this);
}

void SentinelAddresses::find(AddressSource::User& user,
                             ngx_msec_t timeout) noexcept
{
    user_ = &user;
    finding_ = true;
    find_by_ = ngx_current_msec + timeout;
    timer_.start(timeout);
    watch_.ask(*this);
}

void SentinelAddresses::cancel() noexcept
{
    finding_ = false;
    timer_.stop();
    watch_.cancel(*this);
    if (host_ != nullptr) {
        host_->cancel();
    }
}

void SentinelAddresses::on_primary(const redis::ServerAddress& primary) noexcept
{
    meant_ = primary.id;
    bool failed = false;
    const Addresses addresses = ngx_base::guarded(log_, Addresses(), [&] {
        failed = true;
        auto numeric = numeric_address(primary.host, primary.port);
        failed = false;
        return numeric;
    });
    if (failed) {
        on_no_address("out of memory");
    } else if (addresses != nullptr) {
        on_addresses(addresses);
    } else if (settings_.resolver == nullptr) {
        on_no_address(
            "Sentinels answer with a host name, which needs a \"resolver\"");
    } else {
        resolve(primary);
    }
}

ngx_msec_t SentinelAddresses::time_left() const noexcept
{
    return std::max<ngx_msec_t>(ngx_base::time_left(find_by_), 1);
}

void SentinelAddresses::resolve(const redis::ServerAddress& primary) noexcept
{
    const bool made = ngx_base::guarded(log_, false, [&] {
        if (host_ == nullptr || resolved_primary_ != primary) {
            HostSettings host;
            host.host = primary.host;
            host.port = primary.port;
            host.resolver = settings_.resolver;
            host.resolver_timeout = settings_.resolver_timeout;
            host_ = nullptr;
            resolved_primary_ = primary;
            host_ = std::make_unique<ResolvedAddresses>(host, log_);
        }
        return true;
    });
    if (made) {
        timer_.stop();  // the look-up has its own timeout, and reason
        host_->find(*this, time_left());
    } else {
        on_no_address("out of memory");
    }
}

void SentinelAddresses::on_no_primary() noexcept
{
    on_no_address(nullptr);
}

void SentinelAddresses::on_switch() noexcept
{
    if (finding_) {  // resolving the old one's name
        host_->cancel();
        timer_.start(time_left());
        watch_.ask(*this);
    } else if (user_ != nullptr) {
        user_->on_moved();
    }
}

void SentinelAddresses::on_addresses(const Addresses& addresses) noexcept
{
    cancel();
    user_->on_addresses(addresses);
}

void SentinelAddresses::on_no_address(const char* reason) noexcept
{
    cancel();
    user_->on_no_address(reason);
}

void SentinelAddresses::on_timeout() noexcept
{
    on_no_address("no Sentinel answered in time");
}

}  // namespace petstore::ngx_redis
