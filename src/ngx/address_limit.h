#pragma once

#include "../ngx_base/ngx.h"
#include "../service/request.h"

namespace petstore::ngx {

// Limits requests without a valid key, by 60-second windows per client address.
// The windows are in shared memory, so they cover all workers of this host and
// survive reloads.
//
// The zone is one array of small sets. An address hashes to a set; a new
// address replaces the oldest window there. So memory is bounded, and no
// request allocates or frees any.

// nullptr if the zone cannot be created; the reason is logged.
ngx_shm_zone_t* add_address_zone(ngx_conf_t* cf, std::size_t size) noexcept;

// The window of the request's client address (after realip), IPv6 by /64.
// Counts this request if `charge` is set.
service::AddressWindow address_window(ngx_http_request_t* r,
                                      ngx_shm_zone_t* zone, std::int64_t limit,
                                      bool charge) noexcept;

}  // namespace petstore::ngx
