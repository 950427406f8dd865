// Hosts of Redis URLs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/server_variants.h"
#include "redis_parts.h"

namespace petstore::ngx {

namespace {

// The current addresses of a unix socket, IP address or name.
ngx_redis::Addresses resolve(ngx_conf_t* cf, const redis::Endpoint& endpoint)
{
    std::string text = endpoint.is_unix()
                           ? "unix:" + endpoint.path
                           : (endpoint.host.find(':') == std::string::npos
                                  ? endpoint.host
                                  : "[" + endpoint.host + "]")
                                 + ":" + std::to_string(endpoint.port);
    ngx_url_t url{};
    url.url = ngx_base::copy(cf->pool, text);
    url.default_port = static_cast<in_port_t>(endpoint.port);
    if (url.url.data == nullptr) {
        return nullptr;
    }
    if (ngx_parse_url(cf->pool, &url) != NGX_OK || url.naddrs == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s in Redis \"%V\"",
                           url.err ? url.err : "no address", &url.url);
        return nullptr;
    }
    std::vector<ngx_redis::PeerAddress> addresses;
    for (ngx_uint_t i = 0; i < url.naddrs; ++i) {
        const auto* bytes = reinterpret_cast<u_char*>(url.addrs[i].sockaddr);
        addresses.push_back({{bytes, bytes + url.addrs[i].socklen},
                             std::string(ngx_base::view(url.addrs[i].name)),
                             endpoint.host});
    }
    return std::make_shared<const std::vector<ngx_redis::PeerAddress>>(
        std::move(addresses));
}

bool is_host_name(const redis::Endpoint& endpoint)
{
    return !endpoint.is_unix() && endpoint.host.find(':') == std::string::npos
           && ngx_redis::numeric_address(endpoint.host, endpoint.port)
                  == nullptr;
}

}  // namespace

ngx_resolver_t* resolver_of(const ngx_http_core_loc_conf_t& core) noexcept
{
    return has_name_servers(core.resolver) ? core.resolver : nullptr;
}

ngx_redis::HostSettings host_settings(ngx_conf_t* cf,
                                      const redis::Endpoint& endpoint)
{
    const auto& core = core_loc_conf(cf);
    ngx_redis::HostSettings host;
    host.host = endpoint.host;
    host.port = endpoint.port;
    if (is_host_name(endpoint)) {
        host.resolver = resolver_of(core);
        host.resolver_timeout = core.resolver_timeout;
    }
    return host;
}

bool resolve_fixed(ngx_conf_t* cf, const redis::Endpoint& endpoint,
                   ngx_redis::HostSettings& host)
{
    if (host.resolver == nullptr) {
        host.fixed = resolve(cf, endpoint);
    }
    return host.resolver != nullptr || host.fixed != nullptr;
}

}  // namespace petstore::ngx
