#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../../api/date.h"
#include "../../api/limit.h"
#include "../../api/plan.h"
#include "../../ngx_base/exception_border.h"
#include "../../ngx_base/ngx.h"
#include "../../ngx_redis/node_settings.h"
#include "../../openapi/document.h"
#include "../../redis/deployment.h"
#include "../../redis/durability.h"
#include "../../service/settings.h"
#include "../filters/filter_chains.h"
#include "source_position.h"

namespace petstore::ngx {

// The Redis and prefix of a location. Locations with the same settings share
// one storage with its connections and caches.
struct StorageSettings {
    std::size_t node;        // index in MainConf::nodes
    std::size_t limit_node;  // the same, for counters and bans
    std::string prefix;

    bool operator==(const StorageSettings& other) const noexcept
    {
        return node == other.node && limit_node == other.limit_node
               && prefix == other.prefix;
    }
};

// The Redis of an admin API. Locations with the same settings share
// connections.
struct AdminSettings {
    std::size_t storage;     // index in MainConf::storages
    std::size_t node;        // as in StorageSettings, perhaps with other rights
    std::size_t limit_node;  // likewise

    bool operator==(const AdminSettings& other) const noexcept
    {
        return storage == other.storage && node == other.node
               && limit_node == other.limit_node;
    }
};

// The durability that creates of a location wait for. Locations with the same
// settings share one connection for them.
struct DurableSettings {
    std::size_t node;  // index in MainConf::nodes
    redis::Durability durability;

    bool operator==(const DurableSettings& other) const noexcept
    {
        return node == other.node && durability == other.durability;
    }
};

struct LocConf;

// A location with a directive of this module.
struct UsedLocation {
    SourcePosition position;  // of the directive
    const ngx_http_core_loc_conf_t* core;
    const LocConf* conf;
    // The server that contains the location; nullptr in MainConf::served.
    const ngx_http_core_srv_conf_t* server = nullptr;
};

// A location without admission, and without locations that have one.
struct OpenLocation {
    const ngx_http_core_loc_conf_t* core;
    const ngx_http_core_srv_conf_t* server;  // if it is that itself, or nullptr
    const char* directive;                   // that only an admission follows
};

// A location that serves an OpenAPI document, or an `if` or limit_except there.
struct DocumentedLocation {
    LocConf* conf;
    const ngx_http_core_srv_conf_t* server;  // that contains the location
};

// An OpenAPI document, shared by the locations with these settings: building it
// takes milliseconds.
struct Document {
    bool is_admin;  // that of petstore_admin
    openapi::Settings settings;
    std::shared_ptr<const store::CachedResponse> response;
    std::string etag;
};

// The TLS directives of one level, which apply to the URLs there and below.
struct TlsLevel {
    struct Directive {
        std::string name;
        SourcePosition position;
    };
    std::vector<Directive> directives;
    TlsLevel* outer = nullptr;
    bool has_url = false;  // rediss://, at this level or below
};

// One petstore_cors directive, shared by the locations that inherit it.
struct CorsPolicy {
    bool is_off() const noexcept { return !any && origins.empty(); }

    SourcePosition position;
    bool any = false;                  // "*"
    std::vector<std::string> origins;  // otherwise
    bool in_effect = false;            // anywhere
};

// The members that nginx's generic directive setters write to by offset. Kept
// apart from the C++ members, because offsets need standard layout.
struct MainConfBase {
    size_t zone_size = NGX_CONF_UNSET_SIZE;
    size_t worker_memory = NGX_CONF_UNSET_SIZE;  // bytes per storage
};

struct MainConf : MainConfBase {
    // Whether there is anything to do at request time.
    bool has_effect() const noexcept { return in_use || replaces_errors; }

    std::deque<ngx_redis::SentinelSettings> sentinels;
    std::deque<ngx_redis::NodeSettings> nodes;
    std::vector<StorageSettings> storages;
    std::vector<DurableSettings> durables;
    std::vector<AdminSettings> admins;
    api::PlanTable plans;
    std::map<std::string, SourcePosition, std::less<>>
        plan_positions;                         // of petstore_plan
    std::vector<UsedLocation> served;           // `petstore`
    std::vector<UsedLocation> usages;           // petstore_usage
    std::vector<UsedLocation> admin_locations;  // petstore_admin
    std::vector<UsedLocation> guarded;          // these and others with a guard
    std::vector<UsedLocation> statuses;         // petstore_status
    std::vector<OpenLocation> open;
    std::deque<CorsPolicy> cors;
    std::vector<std::string> routes;  // the names of petstore_route
    std::vector<DocumentedLocation> documented;
    std::vector<Document> documents;
    // The URIs of `error_page` without variables, of all servers.
    std::set<std::string, std::less<>> error_pages;
    std::deque<TlsLevel> tls_levels;
    std::size_t variable_costs =
        0;  // locations with a variable in petstore_cost
    std::size_t longest_key_header = 0;  // in bytes, of petstore_key_header
    ngx_shm_zone_t* zone = nullptr;
    FilterChains filters_before;   // when this configuration was read
    bool in_use = false;           // any location needs a worker
    bool has_guard = false;        // any location needs the phase handler
    bool has_cors = false;         // any petstore_cors is in effect
    bool replaces_errors = false;  // petstore_json_errors is on anywhere
};

// An argument that is validated after parsing.
struct PositionedText {
    ngx_str_t text = ngx_null_string;
    SourcePosition position;
};

inline void merge(PositionedText& text, const PositionedText& prev) noexcept
{
    if (text.text.data == nullptr) {
        text = prev;
    }
}

enum LimitHeaders : ngx_uint_t {
    kHeadersStandard,
    kHeadersWindows,
    kHeadersIetf,
};

// All values are unset until merged, as in nginx's own modules.
struct LocConfBase {
    ngx_flag_t serves = NGX_CONF_UNSET;  // the API: `petstore`
    ngx_flag_t guard = NGX_CONF_UNSET;   // implied by `serves`
    ngx_str_t base_path = ngx_null_string;
    ngx_str_t realm = ngx_null_string;
    ngx_str_t key_header = ngx_null_string;  // without text: off
    ngx_flag_t identity_headers = NGX_CONF_UNSET;
    ngx_str_t scope = ngx_null_string;  // likewise: by method
    ngx_str_t route = ngx_null_string;  // likewise: off
    ngx_str_t redis_user = ngx_null_string;
    PositionedText redis_password_file;
    ngx_str_t admin_redis_user = ngx_null_string;
    PositionedText admin_redis_password_file;
    ngx_msec_t redis_connect_timeout = NGX_CONF_UNSET_MSEC;
    ngx_msec_t redis_timeout = NGX_CONF_UNSET_MSEC;
    ngx_flag_t redis_ssl_verify = NGX_CONF_UNSET;
    PositionedText redis_ssl_trusted_certificate;
    PositionedText redis_ssl_name;
    PositionedText redis_ssl_certificate;
    PositionedText redis_ssl_certificate_key;
    ngx_str_t prefix = ngx_null_string;
    ngx_str_t base_url = ngx_null_string;
    size_t max_body_size = NGX_CONF_UNSET_SIZE;
    time_t get_sunset = NGX_CONF_UNSET;  // Settings::kNeverGone if off
    ngx_flag_t json_errors = NGX_CONF_UNSET;
    // nullptr: off
    CorsPolicy* cors = static_cast<CorsPolicy*>(NGX_CONF_UNSET_PTR);
    ngx_int_t cost = NGX_CONF_UNSET;  // in units; 0: that of the variable
    ngx_int_t cost_variable = NGX_CONF_UNSET;  // its index
    ngx_flag_t limit_dry_run = NGX_CONF_UNSET;
    ngx_uint_t limit_headers = NGX_CONF_UNSET_UINT;
    ngx_int_t anonymous_limit = NGX_CONF_UNSET;
    ngx_flag_t anonymous_enforce = NGX_CONF_UNSET;
};

struct LocConf : LocConfBase {
    // Of `petstore`, petstore_usage, petstore_admin, petstore_status or
    // petstore_health.
    SourcePosition position;
    // The handler of one of the latter four; nullptr if the location has none.
    ngx_http_handler_pt own_handler = nullptr;
    ngx_str_t admin_path = ngx_null_string;  // the base path of petstore_admin
    SourcePosition guard_position;           // of what guards the location
    SourcePosition redis_position;
    SourcePosition limit_redis_position;

    // From petstore_redis. Shared with the locations that inherit it.
    std::shared_ptr<const redis::Deployment> redis;
    // From petstore_limit_redis, likewise; nullptr for the same Redis.
    std::shared_ptr<const redis::Deployment> limit_redis;

    TlsLevel* tls = nullptr;  // the innermost level with TLS directives

    // From petstore_allow_plans; nullptr until merged. None: all.
    std::shared_ptr<const std::vector<std::string>> allow_plans;

    std::optional<redis::Durability> durability;
    SourcePosition durability_position;
    std::optional<api::BanPolicy> ban;

    // Merging computes these from the values above.
    bool own_guard = false;          // its own, not inherited
    bool passes_on = false;          // to try_files or mirror
    bool answers = false;            // with the API, unless an `if` does not
    bool admits_in_content = false;  // and nothing passes requests on before
    off_t lifted_body_limit = 0;     // see take_over_body_limit(); 0: none
    // Index in MainConf::storages; none if no request needs one.
    std::optional<std::size_t> storage;
    std::optional<std::size_t> durable;      // index in MainConf::durables
    std::optional<std::size_t> admin;        // index in MainConf::admins
    std::size_t variable_cost = 0;           // see MainConf::variable_costs
    std::optional<std::size_t> route_index;  // in MainConf::routes
    service::Settings service;
    std::string cors_request_headers;  // that a preflight allows
    std::string cors_exposed_headers;  // of responses, that scripts may read
    std::string deprecated_link;       // Link of the deprecated operation
    std::string sunset;                // its Sunset; empty if off
    const MainConf* main = nullptr;
};

void* create_main_conf(ngx_conf_t* cf) noexcept;
char* init_main_conf(ngx_conf_t* cf, void* conf) noexcept;
void* create_loc_conf(ngx_conf_t* cf) noexcept;
char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;

// The range that set_size() accepts, in ngx_command_t::post.
struct SizeRange {
    off_t least;
    off_t most;
    off_t least_pages;  // in memory pages; for shared memory
};
extern SizeRange body_sizes;
extern SizeRange zone_sizes;
extern SizeRange worker_memory_sizes;

// What set_text() accepts, likewise.
struct TextRule {
    // Whether the text switches the directive off; nullptr if no text does.
    bool (*is_none)(std::string_view text) noexcept;
    bool (*is_valid)(std::string_view text) noexcept;
    const char* accepted;  // completes "it must be"
};
extern TextRule realm_rule;
extern TextRule scope_rule;
extern TextRule route_rule;
extern TextRule prefix_rule;

// Setters whose errors quote the invalid value and name what is accepted.
using Setter = char*(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
Setter set_tls_flag, set_tls_text, set_text, set_time, set_size, set_choice,
    set_guard, set_positioned_text;

// The same for setter(), which catches what they throw.
using LocSetter = char*(ngx_conf_t* cf, LocConf& loc);
LocSetter set_petstore, set_usage, set_admin, set_status, set_health, set_redis,
    set_durability, set_limit_redis, set_base_url, set_get_sunset, set_cors,
    set_cost, set_ban, set_anonymous_limit, set_key_header, set_allow_plans;
char* set_plan(ngx_conf_t* cf, MainConf& main);

template <auto set, typename Conf = LocConf>
char* setter(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept
{
    return ngx_base::guarded(cf->log, static_cast<char*>(NGX_CONF_ERROR), [&] {
        return set(cf, *static_cast<Conf*>(conf));
    });
}

}  // namespace petstore::ngx
