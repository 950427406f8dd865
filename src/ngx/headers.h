#pragma once

#include <cstdint>
#include <string_view>

#include "ngx.h"

// Header lines of a request and its response.
namespace petstore::ngx {

// Adds a response header. One that nginx keeps in a slot of headers_out goes
// there too: `expires`, auth_request, headers-more, Lua and $sent_http_… find
// it by the slot. A Location that is a path stays out of its slot, because
// nginx would prefix it with the Host.
//
// The texts are shared, not copied: they must live as long as the request.
// False when memory is out.
bool add_header(ngx_http_request_t* r, std::string_view name,
                std::string_view value) noexcept;
bool add_header_copy(ngx_http_request_t* r, std::string_view name,
                     std::string_view value) noexcept;
bool add_header_number(ngx_http_request_t* r, std::string_view name,
                       std::int64_t value) noexcept;

// Whether the response has a header of that name.
bool has_header(const ngx_http_request_t* r, std::string_view name) noexcept;

// The request's header of that name, nullptr for none. `repeated` tells
// whether there was more than one.
ngx_table_elt_t* find_header(ngx_http_request_t* r, std::string_view name,
                             bool& repeated) noexcept;

}  // namespace petstore::ngx
