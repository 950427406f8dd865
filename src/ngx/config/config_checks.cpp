// Warns about settings that are valid but probably unintended.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "../../ngx_base/exception_border.h"
#include "../../ngx_base/str.h"
#include "../hooks.h"
#include "../module.h"
#include "../nginx/other_modules.h"
#include "../request/entered_location.h"
#include "config.h"

namespace petstore::ngx {

namespace {

// Whether the path of a request that starts with `prefix` can begin with `base`
// and then with one of `paths`.
bool can_match(std::string_view prefix, std::string_view base,
               std::initializer_list<std::string_view> paths) noexcept
{
    const auto in_base = std::min(prefix.size(), base.size());
    const auto rest = prefix.substr(in_base);
    return prefix.substr(0, in_base) == base.substr(0, in_base)
           && std::any_of(paths.begin(), paths.end(), [&](auto path) {
                  const auto size = std::min(rest.size(), path.size());
                  return rest.substr(0, size) == path.substr(0, size);
              });
}

// Whether requests of clients enter the location without an internal redirect.
bool is_public(const ngx_http_core_loc_conf_t& core) noexcept
{
    return !core.internal && !core.named && !core.noname
           && core.loc_conf != nullptr;  // not the server itself
}

bool is_loopback(const sockaddr& address) noexcept
{
    if (address.sa_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
    }
    if (address.sa_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    }
    return address.sa_family == AF_UNIX;
}

template <typename T, typename Visit>
void for_each(const ngx_array_t& array, Visit&& visit)
{
    const auto* items = static_cast<const T*>(array.elts);
    std::for_each(items, items + array.nelts, visit);
}

// Whether the server listens on an address that other hosts may reach.
bool is_reachable(ngx_conf_t* cf, const ngx_http_core_srv_conf_t* server)
{
    const auto& core = core_main_conf(cf);
    bool reachable = false;
    for_each<ngx_http_conf_port_t>(*core.ports, [&](const auto& port) {
        for_each<ngx_http_conf_addr_t>(port.addrs, [&](const auto& address) {
            for_each<const ngx_http_core_srv_conf_t*>(
                address.servers, [&](const auto* listening) {
                    reachable |= listening == server
                                 && !is_loopback(*address.opt.sockaddr);
                });
        });
    });
    return reachable;
}

// False, which is reported, if the location has another handler.
bool check_handler(ngx_conf_t* cf, const UsedLocation& location,
                   ngx_http_handler_pt handler, const char* directive)
{
    const ReportAt at(cf, location.position);
    if (location.core->handler == handler) {
        return true;
    }
    ngx_conf_log_error(
        NGX_LOG_WARN, cf, 0,
        "\"%s\" is overridden by a later directive, such as \"proxy_pass\"",
        directive);
    return false;
}

void check_served(ngx_conf_t* cf, const UsedLocation& location)
{
    const auto& [position, core, conf, server] = location;
    if (!check_handler(cf, location, content_handler, "petstore")) {
        return;
    }
    const ReportAt at(cf, position);
    if (!core->exact_match && is_plain(*core)
        && !can_match(ngx_base::view(core->name),
                      ngx_base::view(conf->base_path),
                      {"/pets/", "/openapi.json"})
        && !may_rewrite(cf, *core)) {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "no request for \"%V/pets\" reaches location \"%V\"; the argument of \"petstore\" sets another base path",
            &conf->base_path, &core->name);
    }
}

void check_admin(ngx_conf_t* cf, const UsedLocation& location)
{
    const auto& [position, core, conf, server] = location;
    if (!check_handler(cf, location, admin_handler, "petstore_admin")) {
        return;
    }
    const ReportAt at(cf, position);
    if (!can_match(
            ngx_base::view(core->name), ngx_base::view(conf->admin_path),
            {"/accounts/", "/keys/", "/plans/", "/usage", "/openapi.json"})
        && !may_rewrite(cf, *core)) {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "no request for \"%V/keys\" reaches location \"%V\"; the argument of \"petstore_admin\" sets another base path",
            &conf->admin_path, &core->name);
    }
}

// `if` and limit_except have the rewrite rules of their location.
void check_return(ngx_conf_t* cf, const UsedLocation& location)
{
    const auto& core = *location.core;
    if (is_public(core) && location.conf->own_handler == nullptr
        && returns_always(cf, core)) {
        const ReportAt at(cf, location.position);
        const bool serves = location.conf->serves;
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "location \"%V\" needs no API key: \"return\" answers before \"%s\"%s",
            &core.name, serves ? "petstore" : "petstore_guard",
            serves ? ""
                   : "; \"petstore_guard off\" says that this is intended");
    }
}

// Whether `thing` is reported for the first time.
bool is_first(const void* thing, std::vector<const void*>& reported)
{
    const bool first =
        std::find(reported.begin(), reported.end(), thing) == reported.end();
    if (first) {
        reported.push_back(thing);
    }
    return first;
}

// Whether this is the level of the server itself. A petstore_guard that it
// inherits from http may be meant for other servers.
bool is_guarded_server(ngx_conf_t* cf, const UsedLocation& location)
{
    const auto& http = *static_cast<const LocConf*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_petstore_module));
    return location.core
               == location.server->ctx->loc_conf[ngx_http_core_module.ctx_index]
           && http.guard != 1;
}

// Reports each server once.
void check_return_of_server(ngx_conf_t* cf, const UsedLocation& location,
                            std::vector<const void*>& reported)
{
    const auto& core = *location.core;
    const bool whole = is_guarded_server(cf, location);
    if ((!whole && !is_public(core))
        || !returns_first(cf, location.server->ctx->loc_conf)
        || !is_first(location.server, reported)) {
        return;
    }
    const ReportAt at(cf, location.position);
    if (whole) {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "\"petstore_guard\" has no effect: \"return\" of its server answers all requests, and needs no API key");
    } else {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "location \"%V\" is never entered: \"return\" of its server answers all requests, and needs no API key",
            &core.name);
    }
}

// Reports each auth_basic once, however many locations inherit it.
void check_basic_auth(ngx_conf_t* cf, const UsedLocation& location,
                      std::vector<const void*>& reported)
{
    const auto& core = *location.core;
    const bool needs_all =
        core.satisfy == NGX_HTTP_SATISFY_ALL || !has_access_rules(cf, core);
    const auto own_handler = location.conf->own_handler;
    const bool needs_key = own_handler == nullptr || admits_itself(own_handler);
    const void* basic = core.name.len != 0
                                && location.conf->service.key_header.empty()
                                && needs_key && needs_all
                            ? basic_auth_of(cf, core)
                            : nullptr;
    if (basic == nullptr || !is_first(basic, reported)) {
        return;
    }
    const ReportAt at(cf, location.position);
    ngx_conf_log_error(
        NGX_LOG_WARN, cf, 0,
        "no request can satisfy both \"auth_basic\" and the API key of location \"%V\": both are in the header \"Authorization\"; see \"petstore_key_header\"%s",
        &core.name,
        core.satisfy == NGX_HTTP_SATISFY_ALL ? " and \"satisfy any\"" : "");
}

// Of petstore_status and petstore_admin.
void check_reach(ngx_conf_t* cf, const UsedLocation& location, const char* use)
{
    const auto& core = *location.core;
    if (is_public(core) && !has_access_rules(cf, core)
        && basic_auth_of(cf, core) == nullptr
        && !verifies_clients(cf, *location.server)
        && is_reachable(cf, location.server)) {
        const ReportAt at(cf, location.position);
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "hint: anyone who reaches location \"%V\" can %s; protect it with \"allow\" and \"deny\"",
            &core.name, use);
    }
}

void report_zone(ngx_conf_t* cf, const ngx_str_t& zone, const ngx_str_t& key)
{
    ngx_log_error(
        NGX_LOG_WARN, cf->log, 0,
        "the key \"%V\" of zone \"%V\" is empty: limit_req and limit_conn use it before variables \"$petstore_…\" are set",
        &key, &zone);
}

}  // namespace

void check_open_locations(ngx_conf_t* cf, const MainConf& main) noexcept
{
    for (const auto& [core, server, directive] : main.open) {
        if (server == nullptr) {
            ngx_log_error(
                NGX_LOG_WARN, cf->log, 0,
                "\"%s\" has no effect: location \"%V\" has no \"petstore_guard on\" and needs no API key",
                directive, &core->name);
            continue;
        }
        ngx_str_t file = {ngx_strlen(server->file_name), server->file_name};
        const ReportAt at(cf, {file, server->line});
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0,
            "\"%s\" has no effect: the server has no \"petstore_guard on\" and needs no API key",
            directive);
    }
}

void check_locations(ngx_conf_t* cf, const MainConf& main) noexcept
{
    ngx_base::guarded(cf->log, 0, [&] {
        std::vector<const void*> reported;
        for (const auto& location : main.served) {
            check_served(cf, location);
        }
        for (const auto& location : main.usages) {
            check_handler(cf, location, usage_handler, "petstore_usage");
            check_basic_auth(cf, location, reported);
        }
        for (const auto& location : main.guarded) {
            check_return(cf, location);
            check_return_of_server(cf, location, reported);
            check_basic_auth(cf, location, reported);
        }
        for (const auto& location : main.statuses) {
            check_reach(cf, location, "read \"petstore_status\"");
        }
        for (const auto& location : main.admin_locations) {
            check_admin(cf, location);
            check_basic_auth(cf, location, reported);
            check_reach(cf, location, "try keys at \"petstore_admin\"");
        }
        return 0;
    });
    find_zones_by_own_variables(cf, report_zone);
    for (const auto& cors : main.cors) {
        if (!cors.in_effect && !cors.is_off()) {
            const ReportAt at(cf, cors.position);
            ngx_conf_log_error(
                NGX_LOG_WARN, cf, 0,
                "\"petstore_cors\" has no effect: no location with \"petstore\" or \"petstore_guard\" uses it");
        }
    }
}

}  // namespace petstore::ngx
