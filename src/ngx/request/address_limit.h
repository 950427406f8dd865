#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/request.h"

namespace petstore::ngx {

class Zone;

// Limits requests without a valid key by 60-second windows per client address.
// The windows are in shared memory, so they cover all workers of this host and
// survive reloads.
//
// The table is one array of small sets. An address hashes to a set; a new
// address replaces the oldest window there. So memory is bounded, and requests
// never allocate or free any.
struct AddressTable;

// Creates the largest table that fits into `bytes`, which must be at least a
// page. nullptr if the pool has no contiguous block of that size.
AddressTable* create_address_table(ngx_slab_pool_t& pool,
                                   std::size_t bytes) noexcept;

// Counts the request in the window of its client address (after realip), IPv6
// by /64, and returns that.
service::AddressWindow count_in_address_window(ngx_http_request_t* r,
                                               const Zone& zone,
                                               std::int64_t limit) noexcept;

// The same window, without counting the request.
service::AddressWindow peek_address_window(ngx_http_request_t* r,
                                           const Zone& zone,
                                           std::int64_t limit) noexcept;

}  // namespace petstore::ngx
