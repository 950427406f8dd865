#include "body_limit.h"

#include "../config/config.h"
#include "../nginx/bodies.h"
#include "request_info.h"

namespace petstore::ngx {

bool exceeds_lifted_limit(ngx_http_request_t* r, RequestInfo& info,
                          const LocConf& conf) noexcept
{
    // nginx does not set discard_body for HTTP/2 and HTTP/3.
    if (conf.lifted_body_limit == 0
        || r->headers_in.content_length_n <= conf.lifted_body_limit
        || r->discard_body || info.body_refused) {
        return false;
    }
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "client intended to send too large body: %O bytes",
                  r->headers_in.content_length_n);
    info.body_refused = r == r->main;
    discard_body(r);
    return true;
}

}  // namespace petstore::ngx
