#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

struct LocConf;
struct RequestInfo;

// Whether the guard lets the request through because it shows the page of a
// refusal: of one by the guard itself, or of one by nginx before the guard.
bool is_page_of_refusal(ngx_http_request_t* r, const RequestInfo& info,
                        const LocConf& conf) noexcept;

}  // namespace petstore::ngx
