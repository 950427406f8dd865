// What the directives take, and what is wrong with it.
#include <algorithm>
#include <variant>

#include "../api/text.h"
#include "../store/schema.h"
#include "config.h"
#include "guard.h"
#include "module.h"
#include "str.h"

namespace petstore::ngx {

namespace {

constexpr api::BanPolicy kBan;  // the defaults

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
        ngx_conf_log_error(
            NGX_LOG_EMERG, cf, 0,
            "invalid number in \"%V\": it must be between 1 and %L", &argument,
            static_cast<int64_t>(most));
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
        ngx_conf_log_error(
            NGX_LOG_EMERG, cf, 0,
            "invalid time in \"%V\": it must be between 1s and 1d", &argument);
        failed = true;
    }
    return value;
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
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"",
                               &args[2]);
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
            } else if (auto d =
                           time_parameter(cf, args[i], "duration", failed)) {
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
