#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// What the error filter keeps about the response of the main request.
struct ErrorPage {
    bool header_held = false;          // until the body shows whose page it is
    bool replaces = false;             // nginx's page is replaced by `body`
    ngx_str_t body = ngx_null_string;  // not yet sent
};

// Installs a header filter and a body filter. They give nginx's own errors the
// body and headers of the service's errors: in locations of the service, and
// wherever petstore_json_errors is on.
void install_error_filter() noexcept;

}  // namespace petstore::ngx
