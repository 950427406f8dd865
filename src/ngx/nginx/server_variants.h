#pragma once

#include <type_traits>

#include "../../ngx_base/ngx.h"

// The differences between nginx 1.22, later versions and forks. No other file
// depends on a server's version.
namespace petstore::ngx {

inline bool is_removed(const ngx_table_elt_t& line) noexcept
{
    return line.hash == 0;
}

// Lists of header lines: since nginx 1.23, `next` links lines of the same name;
// before, multi-line slots are arrays.
//
// append_line() adds a line to a slot that may have several. It drops removed
// lines from the slot, because nginx and other modules use the first one there.
#if (nginx_version >= 1023000)

inline void clear_next(ngx_table_elt_t& line) noexcept
{
    line.next = nullptr;
}

inline bool append_line(ngx_http_request_t*, ngx_table_elt_t*& lines,
                        ngx_table_elt_t* line) noexcept
{
    ngx_table_elt_t** end = &lines;
    while (*end != nullptr) {
        if (is_removed(**end)) {
            *end = (*end)->next;
        } else {
            end = &(*end)->next;
        }
    }
    *end = line;
    return true;
}

#else

inline void clear_next(ngx_table_elt_t&) noexcept {}

inline bool append_line(ngx_http_request_t* r, ngx_array_t& lines,
                        ngx_table_elt_t* line) noexcept
{
    if (lines.elts == nullptr
        && ngx_array_init(&lines, r->pool, 1, sizeof(ngx_table_elt_t*))
               != NGX_OK) {
        return false;
    }
    auto** begin = static_cast<ngx_table_elt_t**>(lines.elts);
    ngx_uint_t live = 0;
    for (ngx_uint_t i = 0; i < lines.nelts; ++i) {
        if (!is_removed(*begin[i])) {
            begin[live++] = begin[i];
        }
    }
    lines.nelts = live;
    auto** position = static_cast<ngx_table_elt_t**>(ngx_array_push(&lines));
    if (position == nullptr) {
        return false;
    }
    *position = line;
    return true;
}

// WWW-Authenticate: the slot holds only the latest line.
inline bool append_line(ngx_http_request_t*, ngx_table_elt_t*& slot,
                        ngx_table_elt_t* line) noexcept
{
    slot = line;
    return true;
}

#endif

// The $http_… variable `name` of the lines in `headers`.
inline ngx_int_t http_variable(ngx_http_request_t* r,
                               ngx_http_variable_value_t* value,
                               ngx_str_t& name,
                               ngx_list_part_t& headers) noexcept
{
    constexpr std::size_t kPrefix = sizeof("http_") - 1;
#if (nginx_version >= 1023000)
    return ngx_http_variable_unknown_header(r, value, &name, &headers, kPrefix);
#else
    static_cast<void>(r);
    return ngx_http_variable_unknown_header(value, &name, &headers, kPrefix);
#endif
}

// Whether a resolver has name servers. Without a `resolver` directive, nginx
// creates one that has none, and Angie and Tengine one with those of
// resolv.conf. Angie links its `connections`, others keep an array. A template,
// because only there does the compiler skip the other branch.
template <typename Resolver>
bool has_name_servers(const Resolver* resolver) noexcept
{
    if (resolver == nullptr) {
        return false;
    }
    if constexpr (std::is_pointer_v<decltype(resolver->connections)>) {
        return resolver->connections != nullptr;
    } else {
        return resolver->connections.nelts > 0;
    }
}

}  // namespace petstore::ngx
