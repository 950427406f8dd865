#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../api/date.h"
#include "../api/limit.h"
#include "../api/plan.h"
#include "ngx.h"
#include "place.h"
#include "redis_link.h"

namespace petstore::ngx {

// A Redis and the namespace in it that a location works with. Locations with
// the same settings share one, and so its connection and caches.
struct StoreSettings {
    std::size_t link;  // index in MainConf::links
    std::string prefix;
};

struct LocConf;

// A location with `petstore`.
struct Served {
    Place place;
    ngx_http_core_loc_conf_t* core;
    const LocConf* conf;
};

// What nginx's generic directive setters write to by offset, apart from the
// C++ parts, which have none.
struct MainConfBase {
    size_t zone_size;
    size_t worker_memory;  // for each store
};

struct MainConf : MainConfBase {
    std::deque<LinkSettings> links;
    std::vector<StoreSettings> stores;
    api::PlanTable plans;
    std::map<std::string, Place, std::less<>> plan_places;  // of petstore_plan
    std::vector<Served> served;
    ngx_shm_zone_t* zone = nullptr;
    bool in_use = false;           // any location serves the API
    bool replaces_errors = false;  // petstore_json_errors, anywhere
};

enum LimitHeaders : ngx_uint_t {
    kHeadersStandard,
    kHeadersWindows,
    kHeadersIetf,
};

// Every value is "unset" until merged, as in nginx's own modules.
struct LocConfBase {
    ngx_flag_t serves;  // petstore: this location answers the API
    ngx_str_t base_path;
    ngx_str_t redis;
    ngx_str_t redis_user;
    ngx_str_t redis_password_file;
    ngx_msec_t redis_connect_timeout;
    ngx_msec_t redis_timeout;
    ngx_str_t prefix;
    ngx_str_t base_url;
    size_t max_body_size;
    time_t get_sunset;  // kNeverGone for off
    ngx_flag_t json_errors;
    ngx_flag_t limit_dry_run;
    ngx_uint_t limit_headers;
    ngx_int_t anonymous_limit;
    ngx_flag_t anonymous_enforce;
    ngx_flag_t ban;
    ngx_int_t ban_threshold;
    ngx_int_t ban_window;
    ngx_int_t ban_duration;
    ngx_int_t ban_max;
};

inline constexpr time_t kNeverGone = 0;

struct LocConf : LocConfBase {
    Place place;  // of `petstore`
    Place redis_place;
    Place password_place;

    // Made by merging, from the values above.
    std::size_t store = 0;  // index in MainConf::stores
    std::size_t max_body = 0;
    std::string link_base;        // what links start with: base URL and path
    std::string deprecated_link;  // Link of the deprecated operation
    std::string sunset;           // its Sunset, empty for off
    api::BanPolicy ban_policy;
    const MainConf* main = nullptr;
};

void* create_main_conf(ngx_conf_t* cf) noexcept;
char* init_main_conf(ngx_conf_t* cf, void* conf) noexcept;
void* create_loc_conf(ngx_conf_t* cf) noexcept;
char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;

// Warns of what is no error but cannot be meant. Called once all has been read
// and merged.
void check_locations(ngx_conf_t* cf, const MainConf& main) noexcept;

// What set_size() takes, in ngx_command_t::post.
struct SizeRange {
    off_t least;
    off_t most;
    off_t least_pages;  // of memory; for shared memory
};
extern SizeRange body_sizes;
extern SizeRange zone_sizes;
extern SizeRange worker_memory_sizes;

// Setters that quote a wrong value and name what is accepted.
char* set_time(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_size(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_choice(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_petstore(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_redis(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_password_file(ngx_conf_t* cf, ngx_command_t* cmd,
                        void* conf) noexcept;
char* set_prefix(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_base_url(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_get_sunset(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_plan(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_ban(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_anonymous_limit(ngx_conf_t* cf, ngx_command_t* cmd,
                          void* conf) noexcept;

}  // namespace petstore::ngx
