#include "config.h"

#include <algorithm>

#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/other_modules.h"
#include "../nginx/pool.h"
#include "../request/entered_location.h"
#include "arguments.h"
#include "merge.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;
constexpr time_t kDefaultSunset = 1922659200;  // 2030-12-05T00:00:00Z

// Disables nginx's limit on body sizes, which nginx would apply before
// authentication; the module applies its own after it, where it reads a body. A
// smaller client_max_body_size still applies. nginx checks that of the location
// before it enters an `if` or limit_except.
void take_over_body_limit(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    auto& core = core_loc_conf(cf);
    conf.service.max_body = conf.max_body_size;
    if (core.client_max_body_size > 0) {
        conf.service.max_body = std::min<std::size_t>(
            conf.service.max_body,
            static_cast<std::size_t>(core.client_max_body_size));
    }
    const bool lifts = conf.admits_in_content || admits_itself(core.handler);
    if (core.noname) {
        conf.lifted_body_limit = prev.lifted_body_limit;
    } else if (lifts) {
        conf.lifted_body_limit = core.client_max_body_size;
    }
    if (lifts) {
        core.client_max_body_size = 0;
    }
}

// nginx does not pass a location's handler down to its limit_except blocks; see
// ngx_http_proxy_merge_loc_conf().
void inherit_handler(ngx_conf_t* cf, ngx_http_handler_pt handler)
{
    auto& core = core_loc_conf(cf);
    if (core.lmt_excpt && core.handler == nullptr) {
        core.handler = handler;
    }
}

// petstore_usage, petstore_admin, petstore_status and petstore_health are
// exempt from an inherited guard, see is_in_guarded_location(); any other
// handler in a location with one of the first two, or in an `if` or
// limit_except there, is guarded. False if the location has its own
// petstore_guard.
bool take_own_handler(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    if (conf.own_handler == nullptr && core_loc_conf(cf).noname) {
        conf.own_handler = prev.own_handler;
        conf.admin_path = prev.admin_path;
    }
    if (conf.own_handler == nullptr) {
        return true;
    }
    if (conf.guard != NGX_CONF_UNSET) {
        return false;
    }
    inherit_handler(cf, conf.own_handler);
    const auto& core = core_loc_conf(cf);
    if (admits_itself(conf.own_handler)
        && (core.noname || core.handler != conf.own_handler)) {
        if (core.noname) {
            conf.position = prev.position;
        }
        conf.guard = 1;
        conf.guard_position = conf.position;
    }
    return true;
}

// A nested location needs its own `petstore`; `if` and limit_except belong to
// the location that contains them.
void inherit_service(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    if (conf.serves == NGX_CONF_UNSET) {
        conf.serves = core_loc_conf(cf).noname && prev.serves == 1 ? 1 : 0;
        if (conf.serves) {
            conf.position = prev.position;
        }
    }
    if (conf.guard == NGX_CONF_UNSET) {
        conf.guard_position = prev.guard_position;
    }
}

// `petstore` implies the guard, whatever handler answers in its location and
// in those below.
void inherit_guard(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    if (conf.serves) {
        conf.guard = 1;
        conf.guard_position = conf.position;
    }
    conf.own_guard = !is_server_level(cf)
                     && (conf.guard != NGX_CONF_UNSET
                         || (core_loc_conf(cf).noname && prev.own_guard));
    ngx_conf_merge_value(conf.guard, prev.guard, 0);
}

// Where the module itself answers, and nothing passes requests on before,
// admission waits for the content handler: its reads then share a round trip
// with the limiter's command.
void choose_phase(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    const auto& core = core_loc_conf(cf);
    if (conf.serves) {
        inherit_handler(cf, content_handler);
        // An `if` without a handler leaves that of its location.
        conf.answers = core.handler == content_handler
                       || (core.handler == nullptr && prev.answers);
    }
    // Operations of the API have their own scopes. What try_files passes on may
    // end in another handler, which nothing else may guard.
    if (conf.answers && !tries_files(cf)) {
        conf.service.scope.clear();
    }
    conf.admits_in_content = conf.answers && !conf.passes_on;
}

// For is_page_of_refusal(). A URI with "/" at its end may list a folder.
void note_error_pages(ngx_conf_t* cf, MainConf& main)
{
    const ngx_array_t* pages = core_loc_conf(cf).error_pages;
    for (ngx_uint_t i = 0; pages != nullptr && i < pages->nelts; ++i) {
        const auto& page = static_cast<ngx_http_err_page_t*>(pages->elts)[i];
        const std::string_view uri = ngx_base::view(page.value.value);
        if (page.value.lengths == nullptr && !uri.empty() && uri.front() == '/'
            && uri.back() != '/') {
            main.error_pages.emplace(uri);
        }
    }
}

// Whether the block is a location with petstore_admin. It does not inherit what
// is meant for the public API.
bool is_admin_location(ngx_conf_t* cf, const LocConf& conf) noexcept
{
    return conf.own_handler == admin_handler && !core_loc_conf(cf).noname;
}

// An admin location must admit pages of other origins itself.
void merge_cors(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    if (is_admin_location(cf, conf)) {
        ngx_conf_init_ptr_value(conf.cors, nullptr);
    }
    ngx_conf_merge_ptr_value(conf.cors, prev.cors, nullptr);
    // Without those that scripts may always read.
    conf.cors_exposed_headers =
        "Link, Location, Retry-After, Deprecation, Sunset, Idempotent-Replayed, "
        "ETag, Allow, WWW-Authenticate, X-RateLimit-Limit, "
        "X-RateLimit-Remaining, X-RateLimit-Reset";
    if (conf.limit_headers == kHeadersWindows) {
        for (const std::string_view name : api::kWindowHeaders) {
            conf.cors_exposed_headers.append(", ").append(name);
        }
    } else if (conf.limit_headers == kHeadersIetf) {
        conf.cors_exposed_headers += ", RateLimit, RateLimit-Policy";
    }
}

// Inherits `petstore` and petstore_guard. False, which is logged, if the
// location has a petstore_guard that its handler excludes.
bool merge_handling(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    inherit_service(cf, prev, conf);
    if (conf.serves && conf.guard == 0) {
        const ReportAt at(cf, conf.guard_position);
        refuse(
            cf,
            "\"petstore_guard off\" cannot be used in a location with \"petstore\", which always requires an API key");
        return false;
    }
    if (!take_own_handler(cf, prev, conf)) {
        const ReportAt at(cf, conf.guard_position);
        refuse(
            cf,
            "\"petstore_guard %s\" cannot be used in a location with \"petstore_usage\", \"petstore_admin\", \"petstore_status\" or \"petstore_health\", which decide themselves whom they answer",
            conf.guard ? "on" : "off");
        return false;
    }
    inherit_guard(cf, prev, conf);
    return true;
}

// The base path, the URL before links, and the end of the deprecated operation.
// A client that follows the link of an admin location to the public host would
// send its key there.
void merge_paths(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    ngx_conf_merge_str_value(conf.base_path, prev.base_path, "/v1");
    const bool hides_base_url =
        conf.own_handler == admin_handler && conf.base_url.data == nullptr
        && (!core_loc_conf(cf).noname
            || prev.service.link_base == prev.service.base_path);
    ngx_conf_merge_str_value(conf.base_url, prev.base_url, "");
    ngx_conf_merge_sec_value(conf.get_sunset, prev.get_sunset, kDefaultSunset);

    service::Settings& service = conf.service;
    service.base_path = ngx_base::view(
        conf.own_handler == admin_handler ? conf.admin_path : conf.base_path);
    service.link_base =
        hides_base_url ? "" : std::string(ngx_base::view(conf.base_url));
    service.link_base += service.base_path;
    service.get_sunset = conf.get_sunset;
    conf.deprecated_link =
        "<" + service.link_base
        + "/pets?status=available>; rel=\"successor-version\"";
    conf.sunset = conf.get_sunset == service::Settings::kNeverGone
                      ? std::string()
                      : api::http_date(conf.get_sunset);
}

// Whether requests of the location need an API key.
bool needs_admission(const LocConf& conf) noexcept
{
    return conf.guard || admits_itself(conf.own_handler);
}

bool matches_all_paths(const ngx_http_core_loc_conf_t& core) noexcept
{
    return any_location(core, [](const ngx_http_location_queue_t& location) {
        const auto* prefix = location.inclusive;
        return prefix != nullptr && ngx_base::view(prefix->name) == "/";
    });
}

// Whether requests may reach admission with these settings. If not, because the
// guard is only inherited, their Redis is not asked, not written to, and does
// not count for petstore_health.
bool uses_redis(ngx_conf_t* cf, const LocConf& prev, const LocConf& conf)
{
    const auto& core = core_loc_conf(cf);
    void** const confs = static_cast<ngx_http_conf_ctx_t*>(cf->ctx)->loc_conf;
    if (conf.serves || admits_itself(conf.own_handler)) {
        return true;
    }
    if (returns_first(cf, confs)) {
        return false;
    }
    if (is_server_level(cf)) {  // for what matches no location
        return !matches_all_paths(core);
    }
    if (core.noname && is_of_server(cf, prev)) {
        return false;  // nginx only runs the script of such an `if`
    }
    // An `if` without a handler has that of its location.
    return conf.own_handler == nullptr
           || (core.handler == nullptr ? prev.storage.has_value()
                                       : core.handler != conf.own_handler);
}

// Notes a location or server that has a directive about admission, but admits
// everybody. `directive`: see directive_of_admission().
void note_open_location(ngx_conf_t* cf, const LocConf& conf, MainConf& main,
                        const char* directive)
{
    if (directive != nullptr && !needs_admission(conf)
        && conf.own_handler == nullptr
        && !contains_admission(core_loc_conf(cf))) {
        main.open.push_back({&core_loc_conf(cf),
                             is_server_level(cf) ? server_of(cf) : nullptr,
                             directive});
    }
}

// In which phase requests of the location are admitted, if they are.
void choose_admission(ngx_conf_t* cf, const LocConf& prev, LocConf& conf)
{
    conf.passes_on = needs_admission(conf) && passes_on(cf);
    if (conf.guard) {
        choose_phase(cf, prev, conf);
    }
}

// Adds a merged location to the lists of MainConf that need it.
void register_location(ngx_conf_t* cf, LocConf& conf, MainConf& main)
{
    note_error_pages(cf, main);
    main.replaces_errors |= conf.json_errors != 0;
    main.has_guard |= conf.passes_on || (conf.guard && !conf.admits_in_content);
    if (conf.cors != nullptr && !conf.cors->is_off()
        && (needs_admission(conf) || conf.json_errors)) {
        conf.cors->in_effect = true;
        main.has_cors = true;
    }
    UsedLocation location = {conf.position, &core_loc_conf(cf), &conf,
                             server_of(cf)};
    if (conf.own_handler == status_handler) {
        main.statuses.push_back(location);
    }
    if (conf.guard) {
        location.position = conf.guard_position;
        main.guarded.push_back(location);
    }
}

}  // namespace

void* create_main_conf(ngx_conf_t* cf) noexcept
{
    return pool_new<MainConf>(cf->pool);
}

namespace {

// nginx's default has room for "http_" and 41 bytes. The core's own function
// has run.
void make_room_for_variables(ngx_conf_t* cf, const MainConf& main) noexcept
{
    if (main.longest_key_header == 0) {
        return;
    }
    // As NGX_HASH_ELT_SIZE() of ngx_hash.c in nginx, and the bucket's end.
    const std::size_t size =
        2 * sizeof(void*)
        + ngx_align(sizeof("http_") - 1 + main.longest_key_header + 2,
                    sizeof(void*));
    auto& core = core_main_conf(cf);
    core.variables_hash_bucket_size = std::max<ngx_uint_t>(
        core.variables_hash_bucket_size, ngx_align(size, ngx_cacheline_size));
}

}  // namespace

char* init_main_conf(ngx_conf_t* cf, void* conf) noexcept
{
    auto& main = *static_cast<MainConf*>(conf);
    ngx_conf_init_size_value(main.zone_size, 10 * kMegabyte);
    ngx_conf_init_size_value(main.worker_memory, 128 * kMegabyte);
    make_room_for_variables(cf, main);
    return kConfOk;
}

void* create_loc_conf(ngx_conf_t* cf) noexcept
{
    return pool_new<LocConf>(cf->pool);
}

char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept
{
    return conf_guarded(cf, [&]() -> char* {
        const auto& prev = *static_cast<LocConf*>(parent);
        auto& conf = *static_cast<LocConf*>(child);
        auto& main = main_conf(cf);
        const char* admission = directive_of_admission(conf);
        if (!merge_handling(cf, prev, conf)) {
            return kConfError;
        }
        merge_paths(cf, prev, conf);
        merge_redis(prev, conf);
        ngx_conf_merge_str_value(conf.prefix, prev.prefix, "petstore");
        ngx_conf_merge_size_value(conf.max_body_size, prev.max_body_size,
                                  16 * 1024);
        ngx_conf_merge_value(conf.json_errors, prev.json_errors, 0);
        merge_limits(prev, conf, main);
        merge_cors(cf, prev, conf);
        merge_access(prev, conf, main);
        note_open_location(cf, conf, main, admission);
        choose_admission(cf, prev, conf);
        register_location(cf, conf, main);
        if (conf.serves || conf.own_handler == admin_handler) {
            main.documented.push_back({&conf, server_of(cf)});
        }
        if (!needs_admission(conf)) {
            return kConfOk;
        }
        take_over_body_limit(cf, prev, conf);
        main.in_use = true;
        conf.main = &main;
        return !uses_redis(cf, prev, conf) || choose_redis(cf, main, conf)
                   ? kConfOk
                   : kConfError;
    });
}

}  // namespace petstore::ngx
