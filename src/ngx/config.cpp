#include "config.h"

#include <algorithm>
#include <array>
#include <variant>

#include "arguments.h"
#include "module.h"
#include "pool.h"
#include "str.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;
constexpr std::size_t kMaxPassword = 4096;
constexpr char kDefaultRedis[] = "redis://127.0.0.1:6379/0";
constexpr api::BanPolicy kBan;                 // the defaults
constexpr time_t kDefaultSunset = 1922659200;  // 2030-12-05T00:00:00Z

// The first line of the file, without its end.
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
    std::array<char, kMaxPassword + 3> buffer;  // and "\r\n" and one more
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

// The addresses of a Redis. Host names are resolved here, once, as proxy_pass
// does.
bool resolve(ngx_conf_t* cf, LinkSettings& link)
{
    const auto& endpoint = link.endpoint;
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
        link.addresses.push_back({{bytes, bytes + url.addrs[i].socklen},
                                  std::string(view(url.addrs[i].name))});
    }
    return true;
}

// The index of a link or store with these settings, made if there is none.
std::optional<std::size_t> find_link(ngx_conf_t* cf, MainConf& main,
                                     LinkSettings wanted)
{
    for (std::size_t i = 0; i < main.links.size(); ++i) {
        const auto& link = main.links[i];
        if (link.endpoint == wanted.endpoint && link.timeout == wanted.timeout
            && link.connect_timeout == wanted.connect_timeout) {
            return i;
        }
    }
    if (!resolve(cf, wanted)) {
        return std::nullopt;
    }
    main.links.push_back(std::move(wanted));
    return main.links.size() - 1;
}

std::size_t find_store(MainConf& main, std::size_t link,
                       std::string_view prefix)
{
    for (std::size_t i = 0; i < main.stores.size(); ++i) {
        if (main.stores[i].link == link && main.stores[i].prefix == prefix) {
            return i;
        }
    }
    main.stores.push_back({link, std::string(prefix)});
    return main.stores.size() - 1;
}

// What goes wrong here is reported where it was written; what was not written
// at all, at `petstore`.
bool choose_store(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    auto parsed = store::parse_endpoint(view(conf.redis));
    LinkSettings link;
    link.endpoint = std::get<store::Endpoint>(std::move(parsed));
    link.timeout = conf.redis_timeout;
    link.connect_timeout = conf.redis_connect_timeout;
    if (link.endpoint.user.empty()) {
        link.endpoint.user = view(conf.redis_user);
    }
    if (conf.redis_password_file.len != 0 && link.endpoint.password.empty()) {
        const ReportAt at(cf, conf.password_place);
        if (!read_password(cf, conf.redis_password_file,
                           link.endpoint.password)) {
            return false;
        }
    }
    const ReportAt at(cf,
                      conf.redis_place.known() ? conf.redis_place : conf.place);
    const auto index = find_link(cf, main, std::move(link));
    if (!index) {
        return false;
    }
    conf.store = find_store(main, *index, view(conf.prefix));
    return true;
}

ngx_http_core_loc_conf_t* core_conf(ngx_conf_t* cf) noexcept
{
    return static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
}

// The module decides on the size of bodies, after authentication; nginx's own
// limit would answer before it. A smaller one of the user's still counts.
void take_over_body_limit(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    auto* core = core_conf(cf);
    if (core->noname) {  // `if` and limit_except know no limits of their own
        conf.max_body = prev.max_body;
    } else {
        conf.max_body = conf.max_body_size;
        if (core->handler != content_handler) {
            return;
        }
        if (core->client_max_body_size > 0) {
            conf.max_body = std::min<std::size_t>(
                conf.max_body,
                static_cast<std::size_t>(core->client_max_body_size));
        }
    }
    core->client_max_body_size = 0;
}

// nginx does not hand a location's handler down to its limit_except blocks; cf.
// ngx_http_proxy_merge_loc_conf().
void inherit_handler(ngx_conf_t* cf)
{
    auto* core = core_conf(cf);
    if (core->lmt_excpt && core->handler == nullptr) {
        core->handler = content_handler;
    }
}

// A location inside another is served by a directive of its own; `if` and
// limit_except are parts of the location they stand in.
void inherit_service(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    if (conf.serves == NGX_CONF_UNSET) {
        conf.serves = core_conf(cf)->noname && prev.serves == 1 ? 1 : 0;
        conf.place = prev.place;
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

        conf.ban_policy = {conf.ban != 0, conf.ban_threshold, conf.ban_window,
                           conf.ban_duration, conf.ban_max};
        conf.link_base = std::string(view(conf.base_url));
        conf.link_base += view(conf.base_path);
        conf.deprecated_link = "<" + conf.link_base
                               + "/pets?status=available>; "
                                 "rel=\"successor-version\"";
        conf.sunset = conf.get_sunset == kNeverGone
                          ? std::string()
                          : api::http_date(conf.get_sunset);

        auto& main = main_conf_of(cf);
        main.replaces_errors |= conf.json_errors != 0;
        if (conf.serves) {
            inherit_handler(cf);
            main.in_use = true;
            conf.main = &main;
            take_over_body_limit(cf, prev, conf);
            if (!choose_store(cf, main, conf)) {
                return kConfError;
            }
        }
        return kConfOk;
    });
}

}  // namespace petstore::ngx
