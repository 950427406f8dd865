#pragma once

#include <exception>

#include "ngx.h"

namespace petstore::ngx {

// Runs `body` and turns whatever it throws into `failed`, with a log line:
// nothing may be thrown through nginx's C frames. The only exception border of
// this layer. `log` has to outlive what `body` does: not a request's where that
// may free the request.
template <typename Result, typename Body>
Result guarded(ngx_log_t* log, Result failed, Body&& body) noexcept
{
    try {
        return body();
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "petstore: %s", e.what());
    } catch (...) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "petstore: unknown exception");
    }
    return failed;
}

}  // namespace petstore::ngx
