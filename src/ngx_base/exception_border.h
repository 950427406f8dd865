#pragma once

#include <exception>

#include "ngx.h"

namespace petstore::ngx_base {

// Runs `body`. If it throws, logs the exception and returns `failed`, because
// exceptions must not cross nginx's C frames. The only exception boundary of
// this layer. `log` must outlive `body`: never pass a request's log if `body`
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

}  // namespace petstore::ngx_base
