#pragma once

#include "../api/limit.h"
#include "ngx.h"

namespace petstore::ngx {

// Windows of 60 seconds per client address, for requests without a valid key:
// in shared memory, so for all workers of this host, and across reloads.
//
// The zone is one array of small sets; an address lives in the set it hashes
// to and pushes out the oldest window there. So its memory is bounded and
// nothing is ever allocated or freed.

// nullptr when the zone cannot be made; the reason is logged.
ngx_shm_zone_t* add_anonymous_zone(ngx_conf_t* cf, std::size_t size) noexcept;

struct AnonymousWindow {
    api::RateView rate;
    bool exceeded = false;  // more requests than the limit, this one included
};

// The window of the request's client address (after realip), IPv6 by /64. With
// `charge` this request counts in it.
AnonymousWindow anonymous_window(ngx_http_request_t* r, ngx_shm_zone_t* zone,
                                 std::int64_t limit, bool charge) noexcept;

}  // namespace petstore::ngx
