#pragma once

#include <memory>
#include <string>

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "address_source.h"

namespace petstore::ngx_redis {

// A server as configured.
struct HostSettings {
    std::string host;
    int port = 0;

    // For unix sockets, IP addresses, and names without a resolver; else
    // nullptr.
    Addresses fixed;

    // The location's nginx resolver; nullptr if it has none.
    ngx_resolver_t* resolver = nullptr;
    ngx_msec_t resolver_timeout = 0;

    bool operator==(const HostSettings& other) const noexcept
    {
        return host == other.host && port == other.port
               && resolver == other.resolver
               && resolver_timeout == other.resolver_timeout;
    }
};

// Parses an IP address in text form, without brackets; nullptr if `host` is not
// one. Throws std::bad_alloc.
Addresses numeric_address(const std::string& host, int port);

// Resolves a name with nginx's resolver. Each find() queries it, because it
// caches. An answer that arrives too late is kept for the next find(). While
// DNS fails, the addresses of the last answer are used, until an answer says
// that the name does not exist.
class ResolvedAddresses final : public AddressSource {
public:
    // `settings` has a resolver.
    ResolvedAddresses(const HostSettings& settings, ngx_log_t* log);
    ~ResolvedAddresses() override;

    void find(User& user, ngx_msec_t timeout) noexcept override;
    void cancel() noexcept override;

private:
    void start_lookup() noexcept;
    void on_lookup_done(ngx_resolver_ctx_t* lookup) noexcept;
    Addresses addresses_in(const ngx_resolver_ctx_t* lookup) const;
    void on_timeout() noexcept;
    void answer(ngx_int_t error) noexcept;

    const std::string name_;
    const int port_;
    ngx_resolver_t* const resolver_;
    const ngx_msec_t resolver_timeout_;
    ngx_log_t* const log_;

    std::string query_;                     // the lookup modifies it
    ngx_resolver_ctx_t* lookup_ = nullptr;  // under way
    Addresses known_;                       // nullptr if there are none
    User* waiting_ = nullptr;
    ngx_base::Timer<ResolvedAddresses, &ResolvedAddresses::on_timeout> timer_;
};

// Fixed or resolved addresses, depending on the settings. The log must outlive
// the source.
std::unique_ptr<AddressSource> host_addresses(const HostSettings& settings,
                                              ngx_log_t* log);

}  // namespace petstore::ngx_redis
