#pragma once

#include <memory>

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "address_source.h"
#include "host_addresses.h"
#include "node_settings.h"
#include "sentinel_watch.h"

namespace petstore::ngx_redis {

// Provides one node with the address of the primary that Sentinels name.
class SentinelAddresses final : public AddressSource,
                                private SentinelWatch::Follower,
                                private AddressSource::User {
public:
    // All must outlive the source.
    SentinelAddresses(const SentinelSettings& settings, SentinelWatch& watch,
                      ngx_log_t* log);

    void find(AddressSource::User& user, ngx_msec_t timeout) noexcept override;
    void cancel() noexcept override;
    redis::ServerId meant() const noexcept override { return meant_; }

private:
    void on_primary(const redis::ServerAddress& primary) noexcept override;
    void on_no_primary() noexcept override;
    void on_switch() noexcept override;

    // The addresses of the host name that a Sentinel returned.
    void on_addresses(const Addresses& addresses) noexcept override;
    void on_no_address(const char* reason) noexcept override;
    void on_moved() noexcept override {}

    ngx_msec_t time_left() const noexcept;
    void resolve(const redis::ServerAddress& primary) noexcept;
    void on_timeout() noexcept;

    const SentinelSettings& settings_;
    SentinelWatch& watch_;
    ngx_log_t* const log_;
    AddressSource::User* user_ = nullptr;  // of find(); kept afterwards
    bool finding_ = false;
    ngx_msec_t find_by_ = 0;
    redis::ServerId meant_;
    redis::ServerAddress resolved_primary_;  // the one that host_ is for
    std::unique_ptr<ResolvedAddresses> host_;
    ngx_base::Timer<SentinelAddresses, &SentinelAddresses::on_timeout> timer_;
};

}  // namespace petstore::ngx_redis
