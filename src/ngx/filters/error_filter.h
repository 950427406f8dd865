#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// What the error filter keeps about the response of the main request.
struct ErrorPage {
    bool header_held = false;          // until the body shows whose page it is
    bool replaces = false;             // nginx's page is replaced by `body`
    ngx_str_t body = ngx_null_string;  // not yet sent
};

}  // namespace petstore::ngx
