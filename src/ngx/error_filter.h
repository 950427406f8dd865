#pragma once

#include "../ngx_base/ngx.h"

namespace petstore::ngx {

// Puts a header and a body filter in front of nginx's: errors that nginx
// itself makes get the body and the headers of the service's own, inside its
// locations, and with petstore_json_errors everywhere in a server.
void install_error_filter() noexcept;

}  // namespace petstore::ngx
