#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "../api/date.h"
#include "../api/limit.h"
#include "../api/plan.h"
#include "ngx.h"
#include "redis_link.h"

namespace petstore::ngx {

// A Redis and the namespace in it that a location works with. Locations with
// the same settings share one, and so its connection and caches.
struct StoreSettings {
    std::size_t link;  // index in MainConf::links
    std::string prefix;
};

// What nginx's generic directive setters write to by offset, apart from the
// C++ parts, which have none.
struct MainConfBase {
    size_t zone_size;
};

struct MainConf : MainConfBase {
    std::deque<LinkSettings> links;
    std::vector<StoreSettings> stores;
    api::PlanTable plans;
    ngx_shm_zone_t* zone = nullptr;
    bool in_use = false;  // any location serves the API
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

// For nginx's generic setters: not zero.
extern ngx_conf_post_t positive_msec;
extern ngx_conf_post_t positive_size;
// A size that the shared memory can do with.
extern ngx_conf_post_t zone_size;

// Setters of the directives that nginx has no generic one for. Each reports
// what is wrong with its arguments at the place where they stand.
char* set_petstore(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_redis(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_prefix(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_base_url(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_get_sunset(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_plan(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_ban(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_anonymous_limit(ngx_conf_t* cf, ngx_command_t* cmd,
                          void* conf) noexcept;

}  // namespace petstore::ngx
