// The directives that name a Redis, and the nodes and storages made from them.
#include "redis_config.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "../ngx_base/str.h"
#include "arguments.h"
#include "redis_tls_config.h"

namespace petstore::ngx {

namespace {

using Form = redis::Deployment::Form;

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
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the first line of \"%V\" must be a password of 1 "
                           "to %uz bytes",
                           &path, redis::kMaxPassword);
    } else {
        return true;
    }
    return false;
}

// Resolves the addresses of a Redis. Like proxy_pass, resolves host names only
// once, here.
bool resolve(ngx_conf_t* cf, NodeSettings& node)
{
    const auto& endpoint = node.endpoint;
    std::string text = endpoint.is_unix()
                           ? "unix:" + endpoint.path
                           : (endpoint.host.find(':') == std::string::npos
                                  ? endpoint.host
                                  : "[" + endpoint.host + "]")
                                 + ":" + std::to_string(endpoint.port);
    ngx_url_t url{};
    url.url = copy(cf->pool, text);
    url.default_port = static_cast<in_port_t>(endpoint.port);
    if (url.url.data == nullptr) {
        return false;
    }
    if (ngx_parse_url(cf->pool, &url) != NGX_OK || url.naddrs == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s in petstore_redis \"%V\"",
                           url.err ? url.err : "no address", &url.url);
        return false;
    }
    std::vector<PeerAddress> addresses;
    for (ngx_uint_t i = 0; i < url.naddrs; ++i) {
        const auto* bytes = reinterpret_cast<u_char*>(url.addrs[i].sockaddr);
        addresses.push_back({{bytes, bytes + url.addrs[i].socklen},
                             std::string(view(url.addrs[i].name)),
                             endpoint.host});
    }
    node.addresses =
        std::make_shared<const std::vector<PeerAddress>>(std::move(addresses));
    return true;
}

// The Redis that the directive's arguments describe; nullptr if they are
// invalid, which is logged.
std::shared_ptr<const redis::Deployment> parse_arguments(ngx_conf_t* cf)
{
    std::vector<std::string_view> urls;
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        urls.push_back(view(arguments(cf)[i]));
    }
    auto parsed = redis::parse_deployment(urls);
    if (const auto* problem = std::get_if<redis::DeploymentProblem>(&parsed)) {
        if (problem->url.empty()) {
            refuse(cf, "\"%V\" directive %s", arguments(cf),
                   problem->reason.c_str());
        } else {
            refuse(cf, "invalid URL \"%s\" in \"%V\" directive: %s",
                   problem->url.c_str(), arguments(cf),
                   problem->reason.c_str());
        }
        return nullptr;
    }
    auto& deployment = std::get<redis::Deployment>(parsed);
    if (deployment.form != Form::standalone) {
        refuse(cf,
               "\"%s\" in \"%V\" directive is not supported by this "
               "version",
               deployment.display().c_str(), arguments(cf));
        return nullptr;
    }
    if (deployment.tls() && !tls_available()) {
        refuse(cf,
               "\"%s\" in \"%V\" directive needs an nginx that is built with "
               "SSL support",
               deployment.display().c_str(), arguments(cf));
        return nullptr;
    }
    return std::make_shared<const redis::Deployment>(std::move(deployment));
}

// Returns the index of the node with these settings, creating it if necessary.
std::optional<std::size_t> find_node(ngx_conf_t* cf, MainConf& main,
                                     const LocConf& conf, NodeSettings wanted)
{
    for (std::size_t i = 0; i < main.nodes.size(); ++i) {
        const auto& node = main.nodes[i];
        if (node.endpoint == wanted.endpoint && node.timeout == wanted.timeout
            && node.connect_timeout == wanted.connect_timeout
            && node.tls == wanted.tls) {
            return i;
        }
    }
    if (!resolve(cf, wanted)
        || (wanted.endpoint.tls && !create_tls_context(cf, conf, wanted.tls))) {
        return std::nullopt;
    }
    wanted.name = wanted.endpoint.display();
    main.nodes.push_back(std::move(wanted));
    return main.nodes.size() - 1;
}

std::size_t find_storage(MainConf& main, std::size_t node,
                         std::string_view prefix)
{
    for (std::size_t i = 0; i < main.storages.size(); ++i) {
        if (main.storages[i].node == node
            && main.storages[i].prefix == prefix) {
            return i;
        }
    }
    main.storages.push_back({node, std::string(prefix)});
    return main.storages.size() - 1;
}

}  // namespace

void merge_redis(const LocConf& prev, LocConf& conf)
{
    if (!conf.redis) {
        conf.redis = prev.redis;
        conf.redis_place = prev.redis_place;
    }
    if (!conf.redis) {  // the default: redis://127.0.0.1:6379/0
        redis::Deployment deployment;
        deployment.endpoints.emplace_back().host = "127.0.0.1";
        conf.redis =
            std::make_shared<const redis::Deployment>(std::move(deployment));
    }
    merge(conf.redis_password_file, prev.redis_password_file);
    ngx_conf_merge_str_value(conf.redis_user, prev.redis_user, "");
    ngx_conf_merge_msec_value(conf.redis_connect_timeout,
                              prev.redis_connect_timeout, 250);
    ngx_conf_merge_msec_value(conf.redis_timeout, prev.redis_timeout, 500);
    merge_tls(prev, conf);
}

bool choose_storage(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    NodeSettings node;
    node.endpoint = conf.redis->endpoints.front();
    node.timeout = conf.redis_timeout;
    node.connect_timeout = conf.redis_connect_timeout;
    if (node.endpoint.user.empty()) {
        node.endpoint.user = view(conf.redis_user);
    }
    if (conf.redis_password_file.text.len != 0
        && node.endpoint.password.empty()) {
        const ReportAt at(cf, conf.redis_password_file.place);
        if (!read_password(cf, conf.redis_password_file.text,
                           node.endpoint.password)) {
            return false;
        }
    }
    if (node.endpoint.tls) {
        node.tls = tls_settings(conf, node.endpoint.host);
    }
    const Place& place = conf.serves ? conf.place : conf.guard_place;
    const ReportAt at(cf, conf.redis_place.known() ? conf.redis_place : place);
    const auto index = find_node(cf, main, conf, std::move(node));
    if (!index) {
        return false;
    }
    conf.storage = find_storage(main, *index, view(conf.prefix));
    return true;
}

char* set_redis(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        auto& loc = *static_cast<LocConf*>(conf);
        if (loc.redis) {
            return kDuplicate;
        }
        auto deployment = parse_arguments(cf);
        if (!deployment) {
            return kConfError;
        }
        loc.redis = std::move(deployment);
        loc.redis_place = current_place(cf);
        return kConfOk;
    });
}

}  // namespace petstore::ngx
