#pragma once

#include <cstdint>
#include <string_view>

#include "../../ngx_base/ngx.h"

// Header lines of a request and its response.
namespace petstore::ngx {

// Adds a response header. If headers_out has a slot for it, sets that too:
// `expires`, auth_request, headers-more, Lua and $sent_http_… look there. A
// Location that is a path is not put into its slot, because nginx would prefix
// it with the Host.
//
// The strings are shared, not copied: they must live as long as the request.
// False if out of memory.
bool add_header(ngx_http_request_t* r, std::string_view name,
                std::string_view value) noexcept;
bool add_header_copy(ngx_http_request_t* r, std::string_view name,
                     std::string_view value) noexcept;
bool add_header_number(ngx_http_request_t* r, std::string_view name,
                       std::int64_t value) noexcept;

// Sets the response's status. Inside the page of an error, a success keeps that
// error's status; an error, whose body repeats its own, does not.
void set_status(ngx_http_request_t* r, ngx_int_t status) noexcept;

// Same as $status. nginx gives an error page the status of the error.
inline ngx_uint_t status_of(const ngx_http_request_t* r) noexcept
{
    return r->err_status != 0 ? r->err_status : r->headers_out.status;
}

// `type` must live as long as the request.
void set_content_type(ngx_http_request_t* r, std::string_view type) noexcept;

// Whether the response has a header of this name.
bool has_header(const ngx_http_request_t* r, std::string_view name) noexcept;

// Removes the response headers for whose names the function returns true.
void remove_headers(ngx_http_request_t* r,
                    bool (*is_named_so)(std::string_view name)) noexcept;

// Removes all response headers with this name but the first.
void keep_first_header(ngx_http_request_t* r, std::string_view name) noexcept;

// Removes all response headers with this name but `kept`.
void keep_header(ngx_http_request_t* r, std::string_view name,
                 const ngx_table_elt_t& kept) noexcept;

// Removes those that repeat an earlier one with the same value.
void remove_repeated_headers(ngx_http_request_t* r,
                             std::string_view name) noexcept;

// Adds a constant name to the Vary header unless it is already there. False if
// out of memory.
bool add_to_vary(ngx_http_request_t* r, std::string_view name) noexcept;

// The request's header of this name, nullptr if absent. Sets `repeated` to
// whether there is more than one.
ngx_table_elt_t* find_header(ngx_http_request_t* r, std::string_view name,
                             bool& repeated) noexcept;

}  // namespace petstore::ngx
