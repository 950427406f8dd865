// The hosts of Redis URLs, and the logins of petstore_redis_user,
// petstore_redis_password_file and those of the admin API.
#include "redis_parts.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/server_variants.h"
#include "arguments.h"

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

namespace {

// Reads the first line of the file, without its line end.
bool read_password(ngx_conf_t* cf, ngx_str_t path, std::string& password)
{
    if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) {
        return false;
    }
    const ngx_fd_t fd =
        ngx_open_file(path.data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", &path);
        return false;
    }
    std::array<char, redis::kMaxPassword + 3>
        buffer;  // plus "\r\n" and one more byte
    std::size_t size = 0;
    ssize_t n = 0;
    do {
        n = ngx_read_fd(fd, buffer.data() + size, buffer.size() - size);
        size += n > 0 ? static_cast<std::size_t>(n) : 0;
    } while (n > 0 && size < buffer.size());
    const ngx_err_t error = n < 0 ? ngx_errno : 0;
    ngx_close_file(fd);

    const auto line = redis::password_in_file({buffer.data(), size});
    password = line.value_or("");
    ngx_explicit_memzero(buffer.data(), size);
    if (error != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, error,
                           ngx_read_fd_n " \"%V\" failed", &path);
    } else if (password.empty()) {
        ngx_conf_log_error(
            NGX_LOG_EMERG, cf, 0,
            "the first line of \"%V\" must be a password of 1 to %uz bytes",
            &path, redis::kMaxPassword);
    } else {
        return true;
    }
    return false;
}

// Adds the credentials that the URL lacks. False if that is impossible, which
// is logged.
bool complete_login(ngx_conf_t* cf, const ngx_str_t& user,
                    const PositionedText& password_file,
                    redis::Endpoint& endpoint)
{
    std::string password;
    if (password_file.text.len != 0 && endpoint.password.empty()) {
        const ReportAt at(cf, password_file.position);
        if (!read_password(cf, password_file.text, password)) {
            return false;
        }
    }
    endpoint.complete(ngx_base::view(user), password);
    return true;
}

}  // namespace

bool choose_login(ngx_conf_t* cf, const LocConf& conf, Rights rights,
                  redis::Endpoint& endpoint)
{
    if (rights == Rights::admin) {
        endpoint.user.clear();
        endpoint.password.clear();
        return complete_login(cf, conf.admin_redis_user,
                              conf.admin_redis_password_file, endpoint);
    }
    return complete_login(cf, conf.redis_user, conf.redis_password_file,
                          endpoint);
}

}  // namespace petstore::ngx
