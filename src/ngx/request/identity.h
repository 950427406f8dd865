#pragma once

#include <string_view>

#include "../../ngx_base/ngx.h"

namespace petstore::store {
struct CachedKey;
}

// petstore_identity_headers: the handler of a guarded location learns who was
// admitted from headers of the request, and never sees the API key.
namespace petstore::ngx {

struct LocConf;
struct RequestInfo;

// A header line that the guard has removed because it may have an API key: the
// first one of its name. The list is in the request's pool.
struct HiddenLine {
    const ngx_table_elt_t& line;
    const HiddenLine* next;
};

// Removes from the request's header, in any spelling that a handler could take
// for the same name:
// - the header that had the API key, and this location's petstore_key_header;
// - Authorization, if it has the same key, or may have a valid one while the
//   other header is empty or repeated;
// - X-Account and the other identity headers.
// Parent and subrequests, which share the lines, keep theirs. Does nothing with
// petstore_identity_headers off. False if out of memory.
bool hide_identity(ngx_http_request_t* r, RequestInfo& info,
                   const LocConf& conf);

// Adds X-Account and the like, as far as the key has them. Call after
// hide_identity(), once. False if out of memory.
bool show_identity(ngx_http_request_t* r, const store::CachedKey& key) noexcept;

// The $http_… variables of the headers above: that of the key keeps what the
// client sent, the others follow the request's header. Call before the
// configuration is parsed.
ngx_int_t add_identity_variables(ngx_conf_t* cf) noexcept;

// The same for another header that may have the key.
ngx_int_t add_key_variable(ngx_conf_t* cf, std::string_view header) noexcept;

}  // namespace petstore::ngx
