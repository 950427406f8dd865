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
