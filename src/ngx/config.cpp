#include "config.h"

#include <algorithm>
#include <array>
#include <variant>

#include "../ngx_base/str.h"
#include "arguments.h"
#include "module.h"
#include "pool.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;
constexpr std::size_t kMaxPassword = 4096;
constexpr char kDefaultRedis[] = "redis://127.0.0.1:6379/0";
constexpr api::BanPolicy kBan;                 // the defaults
constexpr time_t kDefaultSunset = 1922659200;  // 2030-12-05T00:00:00Z

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
    std::array<char, kMaxPassword + 3> buffer;  // plus "\r\n" and one more byte
    std::size_t size = 0;
    ssize_t n = 0;
    do {
        n = ngx_read_fd(fd, buffer.data() + size, buffer.size() - size);
        size += n > 0 ? static_cast<std::size_t>(n) : 0;
    } while (n > 0 && size < buffer.size());
    const ngx_err_t error = n < 0 ? ngx_errno : 0;
    ngx_close_file(fd);

    std::string_view line(buffer.data(), size);
    line = line.substr(0, line.find('\n'));
    if (!line.empty() && line.back() == '\r') {
        line.remove_suffix(1);
    }
    password = line;
    ngx_explicit_memzero(buffer.data(), size);
    if (error != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, error,
                           ngx_read_fd_n " \"%V\" failed", &path);
    } else if (password.empty() || password.size() > kMaxPassword) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the first line of \"%V\" must be a password of 1 "
                           "to %uz bytes",
                           &path, kMaxPassword);
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
    for (ngx_uint_t i = 0; i < url.naddrs; ++i) {
        const auto* bytes = reinterpret_cast<u_char*>(url.addrs[i].sockaddr);
        node.addresses.push_back({{bytes, bytes + url.addrs[i].socklen},
                                  std::string(view(url.addrs[i].name))});
    }
    return true;
}

// Returns the index of the node with these settings, creating it if necessary.
std::optional<std::size_t> find_node(ngx_conf_t* cf, MainConf& main,
                                     NodeSettings wanted)
{
    for (std::size_t i = 0; i < main.nodes.size(); ++i) {
        const auto& node = main.nodes[i];
        if (node.endpoint == wanted.endpoint && node.timeout == wanted.timeout
            && node.connect_timeout == wanted.connect_timeout) {
            return i;
        }
    }
    if (!resolve(cf, wanted)) {
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

// Reports a problem at the directive that caused it, or for defaults at
// `petstore` or `petstore_guard`.
bool choose_storage(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    auto parsed = redis::parse_endpoint(view(conf.redis));
    NodeSettings node;
    node.endpoint = std::get<redis::Endpoint>(std::move(parsed));
    node.timeout = conf.redis_timeout;
    node.connect_timeout = conf.redis_connect_timeout;
    if (node.endpoint.user.empty()) {
        node.endpoint.user = view(conf.redis_user);
    }
    if (conf.redis_password_file.len != 0 && node.endpoint.password.empty()) {
        const ReportAt at(cf, conf.password_place);
        if (!read_password(cf, conf.redis_password_file,
                           node.endpoint.password)) {
            return false;
        }
    }
    const Place& place = conf.serves ? conf.place : conf.guard_place;
    const ReportAt at(cf, conf.redis_place.known() ? conf.redis_place : place);
    const auto index = find_node(cf, main, std::move(node));
    if (!index) {
        return false;
    }
    conf.storage = find_storage(main, *index, view(conf.prefix));
    return true;
}

ngx_http_core_loc_conf_t* core_conf(ngx_conf_t* cf) noexcept
{
    return static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
}

// Disables nginx's limit on body sizes, which nginx would apply before
// authentication; the module applies its own after it. A smaller
// client_max_body_size still counts.
void take_over_body_limit(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    auto* core = core_conf(cf);
    if (core->noname) {  // `if` and limit_except have no separate limit
        conf.service.max_body = prev.service.max_body;
    } else {
        conf.service.max_body = conf.max_body_size;
        if (core->handler != content_handler) {
            return;
        }
        if (core->client_max_body_size > 0) {
            conf.service.max_body = std::min<std::size_t>(
                conf.service.max_body,
                static_cast<std::size_t>(core->client_max_body_size));
        }
    }
    core->client_max_body_size = 0;
}

// nginx does not pass a location's handler down to its limit_except blocks; see
// ngx_http_proxy_merge_loc_conf().
void inherit_handler(ngx_conf_t* cf)
{
    auto* core = core_conf(cf);
    if (core->lmt_excpt && core->handler == nullptr) {
        core->handler = content_handler;
    }
}

// A nested location needs its own `petstore`; `if` and limit_except belong to
// the location that contains them.
void inherit_service(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    if (conf.serves == NGX_CONF_UNSET) {
        conf.serves = core_conf(cf)->noname && prev.serves == 1 ? 1 : 0;
        conf.place = prev.place;
    }
    if (conf.guard == NGX_CONF_UNSET) {
        conf.guard_place = prev.guard_place;
    }
    if (conf.redis.data == nullptr) {
        conf.redis_place = prev.redis_place;
    }
    if (conf.redis_password_file.data == nullptr) {
        conf.password_place = prev.password_place;
    }
}

MainConf& main_conf_of(ngx_conf_t* cf) noexcept
{
    return *static_cast<MainConf*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_petstore_module));
}

}  // namespace

void* create_main_conf(ngx_conf_t* cf) noexcept
{
    auto* conf = pool_new<MainConf>(cf->pool);
    if (conf != nullptr) {
        conf->zone_size = NGX_CONF_UNSET_SIZE;
        conf->worker_memory = NGX_CONF_UNSET_SIZE;
    }
    return conf;
}

char* init_main_conf(ngx_conf_t*, void* conf) noexcept
{
    auto& main = *static_cast<MainConf*>(conf);
    ngx_conf_init_size_value(main.zone_size, 10 * kMegabyte);
    ngx_conf_init_size_value(main.worker_memory, 128 * kMegabyte);
    return kConfOk;
}

void* create_loc_conf(ngx_conf_t* cf) noexcept
{
    auto* conf = pool_new<LocConf>(cf->pool);
    if (conf == nullptr) {
        return nullptr;
    }
    conf->serves = NGX_CONF_UNSET;
    conf->guard = NGX_CONF_UNSET;
    conf->base_path = ngx_null_string;
    conf->redis = ngx_null_string;
    conf->redis_user = ngx_null_string;
    conf->redis_password_file = ngx_null_string;
    conf->redis_connect_timeout = NGX_CONF_UNSET_MSEC;
    conf->redis_timeout = NGX_CONF_UNSET_MSEC;
    conf->prefix = ngx_null_string;
    conf->base_url = ngx_null_string;
    conf->max_body_size = NGX_CONF_UNSET_SIZE;
    conf->get_sunset = NGX_CONF_UNSET;
    conf->json_errors = NGX_CONF_UNSET;
    conf->limit_dry_run = NGX_CONF_UNSET;
    conf->limit_headers = NGX_CONF_UNSET_UINT;
    conf->anonymous_limit = NGX_CONF_UNSET;
    conf->anonymous_enforce = NGX_CONF_UNSET;
    conf->ban = NGX_CONF_UNSET;
    conf->ban_threshold = NGX_CONF_UNSET;
    conf->ban_window = NGX_CONF_UNSET;
    conf->ban_duration = NGX_CONF_UNSET;
    conf->ban_max = NGX_CONF_UNSET;
    return conf;
}

char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        const auto& prev = *static_cast<LocConf*>(parent);
        auto& conf = *static_cast<LocConf*>(child);

        inherit_service(cf, prev, conf);
        if (conf.serves && conf.guard == 0) {
            const ReportAt at(cf, conf.guard_place);
            return refuse(cf, "\"petstore_guard off\" cannot be used in a "
                              "location with \"petstore\", which always "
                              "requires an API key");
        }
        ngx_conf_merge_value(conf.guard, prev.guard, 0);
        ngx_conf_merge_str_value(conf.base_path, prev.base_path, "/v1");
        ngx_conf_merge_str_value(conf.redis, prev.redis, kDefaultRedis);
        ngx_conf_merge_str_value(conf.redis_user, prev.redis_user, "");
        ngx_conf_merge_str_value(conf.redis_password_file,
                                 prev.redis_password_file, "");
        ngx_conf_merge_msec_value(conf.redis_connect_timeout,
                                  prev.redis_connect_timeout, 250);
        ngx_conf_merge_msec_value(conf.redis_timeout, prev.redis_timeout, 500);
        ngx_conf_merge_str_value(conf.prefix, prev.prefix, "petstore");
        ngx_conf_merge_str_value(conf.base_url, prev.base_url, "");
        ngx_conf_merge_size_value(conf.max_body_size, prev.max_body_size,
                                  16 * 1024);
        ngx_conf_merge_sec_value(conf.get_sunset, prev.get_sunset,
                                 kDefaultSunset);
        ngx_conf_merge_value(conf.json_errors, prev.json_errors, 0);
        ngx_conf_merge_value(conf.limit_dry_run, prev.limit_dry_run, 0);
        ngx_conf_merge_uint_value(conf.limit_headers, prev.limit_headers,
                                  kHeadersStandard);
        ngx_conf_merge_value(conf.anonymous_limit, prev.anonymous_limit, 60);
        ngx_conf_merge_value(conf.anonymous_enforce, prev.anonymous_enforce, 0);
        ngx_conf_merge_value(conf.ban, prev.ban, 1);
        ngx_conf_merge_value(conf.ban_threshold, prev.ban_threshold,
                             kBan.threshold);
        ngx_conf_merge_value(conf.ban_window, prev.ban_window, kBan.window);
        ngx_conf_merge_value(conf.ban_duration, prev.ban_duration,
                             kBan.duration);
        ngx_conf_merge_value(conf.ban_max, prev.ban_max, kBan.max);

        service::Settings& service = conf.service;
        service.base_path = view(conf.base_path);
        service.link_base = std::string(view(conf.base_url));
        service.link_base += view(conf.base_path);
        service.get_sunset = conf.get_sunset;
        service.limit_dry_run = conf.limit_dry_run != 0;
        service.enforce_address_limit = conf.anonymous_enforce != 0;
        service.ban = {conf.ban != 0, conf.ban_threshold, conf.ban_window,
                       conf.ban_duration, conf.ban_max};
        conf.deprecated_link = "<" + service.link_base
                               + "/pets?status=available>; "
                                 "rel=\"successor-version\"";
        conf.sunset = conf.get_sunset == service::Settings::kNeverGone
                          ? std::string()
                          : api::http_date(conf.get_sunset);

        auto& main = main_conf_of(cf);
        main.replaces_errors |= conf.json_errors != 0;
        main.has_guard |= conf.guard != 0;
        if (conf.serves) {
            inherit_handler(cf);
            take_over_body_limit(cf, prev, conf);
        }
        if (conf.serves || conf.guard) {
            main.in_use = true;
            conf.main = &main;
            service.plans = &main.plans;
            if (!choose_storage(cf, main, conf)) {
                return kConfError;
            }
        }
        return kConfOk;
    });
}

}  // namespace petstore::ngx
