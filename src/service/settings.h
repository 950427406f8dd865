#pragma once

#include <cstddef>
#include <string>

#include "../api/date.h"
#include "../api/limit.h"
#include "../api/plan.h"

namespace petstore::service {

// The configuration of one location. Lives as long as the requests that it
// serves.
struct Settings {
    static constexpr api::UnixTime kNeverGone = 0;

    std::string base_path;
    std::string link_base;     // what links start with: base URL and path
    std::size_t max_body = 0;  // bytes
    api::UnixTime get_sunset = kNeverGone;
    bool limit_dry_run = false;
    bool enforce_address_limit = false;
    api::BanPolicy ban;
    const api::PlanTable* plans = nullptr;
};

}  // namespace petstore::service
