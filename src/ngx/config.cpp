#include "config.h"

#include <algorithm>
#include <fstream>
#include <variant>

#include "../api/text.h"
#include "../store/schema.h"
#include "guard.h"
#include "module.h"
#include "pool.h"
#include "str.h"

namespace petstore::ngx {

namespace {

constexpr char kDefaultRedis[] = "redis://127.0.0.1:6379/0";
constexpr api::BanPolicy kBan;  // the defaults
constexpr time_t kDefaultSunset = 1922659200;  // 2030-12-05T00:00:00Z

char* const kOk = NGX_CONF_OK;
char* const kError = static_cast<char*>(NGX_CONF_ERROR);
char kDuplicate[] = "is duplicate";

ngx_str_t* arguments(ngx_conf_t* cf) noexcept
{
    return static_cast<ngx_str_t*>(cf->args->elts);
}

template <typename Body>
char* conf_guarded(ngx_conf_t* cf, Body&& body) noexcept
{
    return guarded(cf->log, kError, std::forward<Body>(body));
}

// "name=123" → 123, in the bounds given. nullopt where `argument` is another
// parameter; an unusable number is reported and sets `failed`.
std::optional<std::int64_t> number_parameter(ngx_conf_t* cf,
                                             const ngx_str_t& argument,
                                             std::string_view name,
                                             std::int64_t most, bool& failed)
{
    const auto text = view(argument);
    if (text.size() <= name.size() || text.substr(0, name.size()) != name
        || text[name.size()] != '=') {
        return std::nullopt;
    }
    const auto value = api::parse_int64(text.substr(name.size() + 1));
    if (!value || *value < 1 || *value > most) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid number in \"%V\": it must be between 1 and %L",
                           &argument, static_cast<int64_t>(most));
        failed = true;
    }
    return value;
}

// As number_parameter(), for a time: "90", "90s", "5m", "1h".
std::optional<std::int64_t> time_parameter(ngx_conf_t* cf,
                                           const ngx_str_t& argument,
                                           std::string_view name, bool& failed)
{
    const auto text = view(argument);
    if (text.size() <= name.size() || text.substr(0, name.size()) != name
        || text[name.size()] != '=') {
        return std::nullopt;
    }
    const auto value = api::parse_duration(text.substr(name.size() + 1));
    if (!value || *value < 1 || *value > api::kDaySeconds) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid time in \"%V\": it must be between 1s and 1d",
                           &argument);
        failed = true;
    }
    return value;
}

bool read_password(ngx_conf_t* cf, ngx_str_t path, std::string& password)
{
    if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) {
        return false;
    }
    std::ifstream file(reinterpret_cast<const char*>(path.data));
    if (!std::getline(file, password) || password.empty()) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "cannot read a password from \"%V\"", &path);
        return false;
    }
    if (password.back() == '\r') {
        password.pop_back();
    }
    return true;
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

std::size_t find_store(MainConf& main, std::size_t link, std::string_view prefix)
{
    for (std::size_t i = 0; i < main.stores.size(); ++i) {
        if (main.stores[i].link == link && main.stores[i].prefix == prefix) {
            return i;
        }
    }
    main.stores.push_back({link, std::string(prefix)});
    return main.stores.size() - 1;
}

bool choose_store(ngx_conf_t* cf, MainConf& main, LocConf& conf)
{
    auto parsed = store::parse_endpoint(view(conf.redis));
    if (auto* problem = std::get_if<std::string>(&parsed)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "petstore_redis: %s",
                           problem->c_str());
        return false;
    }
    LinkSettings link;
    link.endpoint = std::get<store::Endpoint>(std::move(parsed));
    link.timeout = conf.redis_timeout;
    link.connect_timeout = conf.redis_connect_timeout;
    if (conf.redis_user.len != 0) {
        link.endpoint.user = view(conf.redis_user);
    }
    if (conf.redis_password_file.len != 0
        && !read_password(cf, conf.redis_password_file,
                          link.endpoint.password)) {
        return false;
    }
    const auto index = find_link(cf, main, std::move(link));
    if (!index) {
        return false;
    }
    conf.store = find_store(main, *index, view(conf.prefix));
    return true;
}

// The module decides on the size of bodies, after authentication; nginx's own
// limit would answer before it. A smaller one of the user's still counts.
void take_over_body_limit(ngx_conf_t* cf, LocConf& conf)
{
    auto* core = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    conf.max_body = conf.max_body_size;
    if (core->handler != content_handler) {
        return;
    }
    if (core->client_max_body_size > 0) {
        conf.max_body = std::min<std::size_t>(
            conf.max_body, static_cast<std::size_t>(core->client_max_body_size));
    }
    core->client_max_body_size = 0;
}

// nginx does not hand a location's handler down to its limit_except blocks; cf.
// ngx_http_proxy_merge_loc_conf().
void inherit_handler(ngx_conf_t* cf)
{
    auto* core = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    if (core->lmt_excpt && core->handler == nullptr) {
        core->handler = content_handler;
    }
}

template <typename T>
char* check_positive(ngx_conf_t*, void*, void* value) noexcept
{
    static char problem[] = "must be greater than zero";
    return *static_cast<T*>(value) == 0 ? problem : kOk;
}

char* check_zone_size(ngx_conf_t* cf, void*, void* value) noexcept
{
    if (*static_cast<size_t*>(value) < 8 * ngx_pagesize) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "petstore_zone is too small: at least %uzk",
                           8 * ngx_pagesize / 1024);
        return kError;
    }
    return kOk;
}

}  // namespace

ngx_conf_post_t positive_msec = {check_positive<ngx_msec_t>};
ngx_conf_post_t positive_size = {check_positive<size_t>};
ngx_conf_post_t zone_size = {check_zone_size};

void* create_main_conf(ngx_conf_t* cf) noexcept
{
    auto* conf = pool_new<MainConf>(cf->pool);
    if (conf != nullptr) {
        conf->zone_size = NGX_CONF_UNSET_SIZE;
    }
    return conf;
}

char* init_main_conf(ngx_conf_t*, void* conf) noexcept
{
    auto& main = *static_cast<MainConf*>(conf);
    ngx_conf_init_size_value(main.zone_size, 10 * 1024 * 1024);
    return kOk;
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

        ngx_conf_merge_value(conf.serves, prev.serves, 0);
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

        if (conf.serves) {
            inherit_handler(cf);
            auto& main = *static_cast<MainConf*>(
                ngx_http_conf_get_module_main_conf(cf,
                                                   ngx_http_petstore_module));
            main.in_use = true;
            conf.main = &main;
            take_over_body_limit(cf, conf);
            if (!choose_store(cf, main, conf)) {
                return kError;
            }
        }
        return kOk;
    });
}

char* set_petstore(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    auto& loc = *static_cast<LocConf*>(conf);
    if (loc.serves != NGX_CONF_UNSET) {
        return kDuplicate;
    }
    loc.serves = 1;
    if (cf->args->nelts == 2) {
        const ngx_str_t path = arguments(cf)[1];
        const auto text = view(path);
        const auto version = text.rfind("/v");
        if (text.empty() || text.front() != '/'
            || version == std::string_view::npos
            || api::parse_int64(text.substr(version + 2)).value_or(0) < 1
            || text.find_first_of(" ?#%\"<>\\") != std::string_view::npos
            || text.find("//") != std::string_view::npos) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid base path \"%V\": it must start with "
                               "\"/\" and end with a version as in \"/v1\"",
                               &path);
            return kError;
        }
        loc.base_path = path;
    }
    auto* core = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    core->handler = content_handler;
    return kOk;
}

char* set_redis(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        auto& loc = *static_cast<LocConf*>(conf);
        if (loc.redis.data != nullptr) {
            return kDuplicate;
        }
        const ngx_str_t* args = arguments(cf);
        for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
            if (view(args[i]) == "cluster"
                || view(args[i]).substr(0, 9) == "sentinel=") {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                                   "Sentinel and Cluster are not supported by "
                                   "this version: \"%V\"",
                                   &args[i]);
                return kError;
            }
        }
        if (cf->args->nelts > 2) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\"", &args[2]);
            return kError;
        }
        const auto parsed = store::parse_endpoint(view(args[1]));
        if (const auto* problem = std::get_if<std::string>(&parsed)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s", problem->c_str());
            return kError;
        }
        if (std::get<store::Endpoint>(parsed).tls) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "TLS to Redis is not supported by this version");
            return kError;
        }
        loc.redis = args[1];
        return kOk;
    });
}

char* set_prefix(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    auto& loc = *static_cast<LocConf*>(conf);
    if (loc.prefix.data != nullptr) {
        return kDuplicate;
    }
    const ngx_str_t name = arguments(cf)[1];
    if (const char* problem = store::Schema::prefix_problem(view(name))) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "prefix \"%V\" %s", &name,
                           problem);
        return kError;
    }
    loc.prefix = name;
    return kOk;
}

char* set_base_url(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    auto& loc = *static_cast<LocConf*>(conf);
    if (loc.base_url.data != nullptr) {
        return kDuplicate;
    }
    ngx_str_t url = arguments(cf)[1];
    while (url.len != 0 && url.data[url.len - 1] == '/') {
        --url.len;
    }
    const auto text = view(url);
    const bool http = text.substr(0, 7) == "http://" && text.size() > 7;
    const bool https = text.substr(0, 8) == "https://" && text.size() > 8;
    if ((!http && !https) || !api::is_visible_ascii(text)
        || text.find_first_of("?#<>\"") != std::string_view::npos) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid URL \"%V\": an absolute http or https URL "
                           "without query is expected",
                           &arguments(cf)[1]);
        return kError;
    }
    loc.base_url = url;
    return kOk;
}

char* set_get_sunset(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    auto& loc = *static_cast<LocConf*>(conf);
    if (loc.get_sunset != NGX_CONF_UNSET) {
        return kDuplicate;
    }
    const ngx_str_t argument = arguments(cf)[1];
    if (view(argument) == "off") {
        loc.get_sunset = kNeverGone;
        return kOk;
    }
    const auto date = api::parse_date(view(argument));
    if (!date || *date <= 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid date \"%V\": \"2030-12-05\", "
                           "\"2030-12-05T10:00:00Z\" or \"off\" is expected",
                           &argument);
        return kError;
    }
    loc.get_sunset = static_cast<time_t>(*date);
    return kOk;
}

char* set_plan(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        auto& main = *static_cast<MainConf*>(conf);
        const ngx_str_t* args = arguments(cf);
        const auto name = view(args[1]);
        if (name.empty() || name.size() > 32
            || !std::all_of(name.begin(), name.end(), [](unsigned char c) {
                   return std::islower(c) || std::isdigit(c) || c == '-'
                          || c == '_';
               })) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid plan name \"%V\": 1 to 32 lower-case "
                               "letters, digits, \"-\" or \"_\"",
                               &args[1]);
            return kError;
        }
        api::Limits limits;
        bool failed = false;
        for (ngx_uint_t i = 2; i < cf->args->nelts && !failed; ++i) {
            if (auto n = number_parameter(cf, args[i], "minute", api::kMaxLimit,
                                          failed)) {
                limits.minute = *n;
            } else if (auto m = number_parameter(cf, args[i], "day",
                                                 api::kMaxLimit, failed)) {
                limits.day = *m;
            } else if (!failed) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                                   "invalid parameter \"%V\"", &args[i]);
                failed = true;
            }
        }
        if (!failed && (limits.minute == 0 || limits.day == 0)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "plan \"%V\" needs both minute=N and day=N",
                               &args[1]);
            failed = true;
        }
        if (failed) {
            return kError;
        }
        main.plans.set(std::string(name), limits);
        return kOk;
    });
}

char* set_ban(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        auto& loc = *static_cast<LocConf*>(conf);
        if (loc.ban != NGX_CONF_UNSET) {
            return kDuplicate;
        }
        const ngx_str_t* args = arguments(cf);
        if (cf->args->nelts == 2 && view(args[1]) == "off") {
            loc.ban = 0;
            return kOk;
        }
        // One directive is one policy: what it leaves out is not inherited.
        const api::BanPolicy standard;
        loc.ban = 1;
        loc.ban_threshold = standard.threshold;
        loc.ban_window = standard.window;
        loc.ban_duration = standard.duration;
        bool failed = false;
        for (ngx_uint_t i = 1; i < cf->args->nelts && !failed; ++i) {
            if (auto n = number_parameter(cf, args[i], "threshold",
                                          api::kMaxLimit, failed)) {
                loc.ban_threshold = *n;
            } else if (auto t = time_parameter(cf, args[i], "window", failed)) {
                loc.ban_window = *t;
            } else if (auto d = time_parameter(cf, args[i], "duration",
                                               failed)) {
                loc.ban_duration = *d;
            } else if (auto m = time_parameter(cf, args[i], "max", failed)) {
                loc.ban_max = *m;
            } else if (!failed) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                                   "invalid parameter \"%V\"", &args[i]);
                failed = true;
            }
        }
        if (loc.ban_max == NGX_CONF_UNSET) {
            loc.ban_max = std::max<ngx_int_t>(standard.max, loc.ban_duration);
        }
        if (!failed && loc.ban_max < loc.ban_duration) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"max\" must not be less than \"duration\"");
            failed = true;
        }
        // As everywhere in nginx, a directive replaces that of the level above
        // whole.
        ngx_conf_init_value(loc.ban_threshold, kBan.threshold);
        ngx_conf_init_value(loc.ban_window, kBan.window);
        ngx_conf_init_value(loc.ban_duration, kBan.duration);
        ngx_conf_init_value(loc.ban_max,
                            std::max<ngx_int_t>(kBan.max, loc.ban_duration));
        return failed ? kError : kOk;
    });
}

char* set_anonymous_limit(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    auto& loc = *static_cast<LocConf*>(conf);
    if (loc.anonymous_limit != NGX_CONF_UNSET) {
        return kDuplicate;
    }
    const ngx_str_t* args = arguments(cf);
    const auto limit = api::parse_int64(view(args[1]));
    if (!limit || *limit < 1 || *limit > 1'000'000'000) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid number \"%V\": it must be between 1 and "
                           "1000000000",
                           &args[1]);
        return kError;
    }
    loc.anonymous_limit = static_cast<ngx_int_t>(*limit);
    loc.anonymous_enforce = 0;
    if (cf->args->nelts == 3) {
        if (view(args[2]) != "enforce") {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"",
                               &args[2]);
            return kError;
        }
        loc.anonymous_enforce = 1;
    }
    return kOk;
}

}  // namespace petstore::ngx
