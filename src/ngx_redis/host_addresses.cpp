#include "host_addresses.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <utility>
#include <vector>

#include "../ngx_base/exception_border.h"
#include "../ngx_base/str.h"

namespace petstore::ngx_redis {

namespace {

PeerAddress peer_address(const sockaddr* address, socklen_t size, int port,
                         const std::string& host)
{
    ngx_sockaddr_t copied{};
    std::memcpy(&copied, address,
                std::min(sizeof(copied), static_cast<std::size_t>(size)));
    ngx_inet_set_port(&copied.sockaddr, static_cast<in_port_t>(port));
    u_char text[NGX_SOCKADDR_STRLEN];
    const std::size_t length =
        ngx_sock_ntop(&copied.sockaddr, size, text, sizeof(text), 1);
    const auto* bytes = reinterpret_cast<const u_char*>(&copied);
    return {{bytes, bytes + size},
            std::string(reinterpret_cast<const char*>(text), length),
            host};
}

}  // namespace

Addresses numeric_address(const std::string& host, int port)
{
    ngx_sockaddr_t address{};
    socklen_t size = 0;
    if (inet_pton(AF_INET, host.c_str(), &address.sockaddr_in.sin_addr) == 1) {
        address.sockaddr.sa_family = AF_INET;
        size = sizeof(sockaddr_in);
    }
#if (NGX_HAVE_INET6)
    if (inet_pton(AF_INET6, host.c_str(), &address.sockaddr_in6.sin6_addr)
        == 1) {
        address.sockaddr.sa_family = AF_INET6;
        size = sizeof(sockaddr_in6);
    }
#endif
    if (size == 0) {
        return nullptr;
    }
    return std::make_shared<const std::vector<PeerAddress>>(
        1, peer_address(&address.sockaddr, size, port, host));
}

ResolvedAddresses::ResolvedAddresses(const HostSettings& settings,
                                     ngx_log_t* log)
    : name_(settings.host), port_(settings.port), resolver_(settings.resolver),
      resolver_timeout_(settings.resolver_timeout), log_(log),
      timer_(*this, log, ngx_base::OnExit::cancel)
{}

ResolvedAddresses::~ResolvedAddresses()
{
    if (lookup_ != nullptr) {
        ngx_resolve_name_done(lookup_);
    }
}

void ResolvedAddresses::find(User& user, ngx_msec_t timeout) noexcept
{
    waiting_ = &user;
    // If there are addresses to fall back on, leave half the time to connect.
    timer_.start(known_ == nullptr ? timeout : timeout / 2);
    if (lookup_ == nullptr) {
        start_lookup();
    }
}

void ResolvedAddresses::cancel() noexcept
{
    waiting_ = nullptr;
    timer_.stop();
}

void ResolvedAddresses::start_lookup() noexcept
{
    const bool copied = ngx_base::guarded(log_, false, [this] {
        query_ = name_;
        return true;
    });
    ngx_resolver_ctx_t* const lookup =
        copied ? ngx_resolve_start(resolver_, nullptr) : nullptr;
    if (lookup == nullptr || lookup == NGX_NO_RESOLVER) {
        answer(NGX_ERROR);
        return;
    }
    lookup->name = ngx_base::borrow(query_);
    lookup->timeout = resolver_timeout_;
    lookup->cancelable = 1;
    lookup->data = this;
    lookup->handler = [](ngx_resolver_ctx_t* done) noexcept {
        static_cast<ResolvedAddresses*>(done->data)->on_lookup_done(done);
    };
    lookup_ = lookup;
    if (ngx_resolve_name(lookup) != NGX_OK) {  // nginx has freed it
        lookup_ = nullptr;
        answer(NGX_ERROR);
    }
}

void ResolvedAddresses::on_lookup_done(ngx_resolver_ctx_t* lookup) noexcept
{
    ngx_int_t error = lookup->state;
    if (error == NGX_OK) {
        Addresses found = ngx_base::guarded(
            log_, Addresses(), [&] { return addresses_in(lookup); });
        if (found != nullptr) {
            known_ = std::move(found);
        } else {
            error = NGX_ERROR;
        }
    } else if (error == NGX_RESOLVE_NXDOMAIN || error == NGX_RESOLVE_FORMERR) {
        known_ = nullptr;
    }
    lookup_ = nullptr;
    ngx_resolve_name_done(lookup);
    answer(error);
}

// Sorted, so that a node continues with the next address whatever the order of
// the DNS response.
Addresses
ResolvedAddresses::addresses_in(const ngx_resolver_ctx_t* lookup) const
{
    std::vector<PeerAddress> found;
    for (ngx_uint_t i = 0; i < lookup->naddrs; ++i) {
        found.push_back(peer_address(lookup->addrs[i].sockaddr,
                                     lookup->addrs[i].socklen, port_, name_));
    }
    std::sort(found.begin(), found.end(),
              [](const PeerAddress& a, const PeerAddress& b) {
                  return a.sockaddr < b.sockaddr;
              });
    return found.empty() ? nullptr
                         : std::make_shared<const std::vector<PeerAddress>>(
                             std::move(found));
}

// The lookup continues; otherwise a slow DNS server could never be used.
void ResolvedAddresses::on_timeout() noexcept
{
    answer(NGX_RESOLVE_TIMEDOUT);
}

// `error` is the resolver's, or NGX_ERROR if out of memory.
void ResolvedAddresses::answer(ngx_int_t error) noexcept
{
    User* const user = std::exchange(waiting_, nullptr);
    timer_.stop();
    if (user == nullptr) {
        return;
    }
    if (known_ != nullptr) {
        user->on_addresses(known_);
        return;
    }
    u_char reason[400];  // a host name has 255 characters at most
    if (error == NGX_ERROR) {
        *ngx_snprintf(reason, sizeof(reason) - 1, "out of memory") = '\0';
    } else {
        *ngx_snprintf(reason, sizeof(reason) - 1,
                      "%s could not be resolved (%i: %s)", name_.c_str(), error,
                      ngx_resolver_strerror(error)) = '\0';
    }
    user->on_no_address(reinterpret_cast<const char*>(reason));
}

std::unique_ptr<AddressSource> host_addresses(const HostSettings& settings,
                                              ngx_log_t* log)
{
    if (settings.fixed != nullptr) {
        return std::make_unique<FixedAddresses>(settings.fixed);
    }
    return std::make_unique<ResolvedAddresses>(settings, log);
}

}  // namespace petstore::ngx_redis
