#pragma once

// The only file that includes nginx's headers, which are C.
extern "C" {
#include <nginx.h>
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>
#include <ngx_http.h>
}

static_assert(__cplusplus >= 201703L, "the module needs C++17");

namespace petstore::ngx_base {

// The worker is to exit: nothing must begin in the background but what requests
// need, which may still arrive.
inline bool is_quitting() noexcept
{
    return ngx_exiting != 0 || ngx_terminate != 0;
}

}  // namespace petstore::ngx_base
