#include "headers.h"

#include <algorithm>
#include <charconv>

#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "server_variants.h"

namespace petstore::ngx {

namespace {

bool is_named(const ngx_table_elt_t& line, std::string_view name) noexcept
{
    return api::equals_ignoring_case(ngx_base::view(line.key), name);
}

// Whether a comma-separated list has this item.
bool is_listed(std::string_view list, std::string_view item) noexcept
{
    while (!list.empty()) {
        auto entry = list.substr(0, list.find(','));
        list.remove_prefix(std::min(entry.size() + 1, list.size()));
        entry.remove_prefix(
            std::min(entry.find_first_not_of(" \t"), entry.size()));
        entry = entry.substr(0, entry.find_last_not_of(" \t") + 1);
        if (api::equals_ignoring_case(entry, item)) {
            return true;
        }
    }
    return false;
}

// Calls `visit` with each line that was not removed.
template <typename Visit>
void for_each_line(const ngx_list_t& headers, Visit&& visit) noexcept
{
    for (auto* part = &headers.part; part != nullptr; part = part->next) {
        auto* lines = static_cast<ngx_table_elt_t*>(part->elts);
        for (ngx_uint_t i = 0; i < part->nelts; ++i) {
            if (!is_removed(lines[i])) {
                visit(lines[i]);
            }
        }
    }
}

// For a header that may have only one line: replaces the old line.
bool put(ngx_table_elt_t*& slot, ngx_table_elt_t* line) noexcept
{
    if (slot != nullptr) {
        slot->hash = 0;
    }
    slot = line;
    return true;
}

// Removes all other lines that are identical to this one.
void drop_repeated(ngx_list_t& headers, const ngx_table_elt_t& kept) noexcept
{
    for_each_line(headers, [&](ngx_table_elt_t& line) {
        if (&line != &kept && is_named(line, ngx_base::view(kept.key))
            && ngx_base::view(line.value) == ngx_base::view(kept.value)) {
            line.hash = 0;
        }
    });
}

bool fill_slot(ngx_http_request_t* r, ngx_table_elt_t* line) noexcept
{
    auto& out = r->headers_out;
    const auto name = ngx_base::view(line->key);
    if (name == "Cache-Control") {
        return append_line(r, out.cache_control, line);
    }
    if (name == "Link") {
        return append_line(r, out.link, line);
    }
    if (name == "WWW-Authenticate") {
        drop_repeated(out.headers, *line);
        return append_line(r, out.www_authenticate, line);
    }
    if (name == "ETag") {
        return put(out.etag, line);
    }
    if (name == "Location" && line->value.len != 0
        && line->value.data[0] != '/') {
        return put(out.location, line);
    }
    return true;
}

}  // namespace

bool add_header(ngx_http_request_t* r, std::string_view name,
                std::string_view value) noexcept
{
    auto* line =
        static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
    if (line == nullptr) {
        return false;
    }
    line->hash = 1;
    line->key = ngx_base::borrow(name);
    line->value = ngx_base::borrow(value);
    line->lowcase_key = nullptr;
    clear_next(*line);
    if (!fill_slot(r, line)) {
        line->hash = 0;
        return false;
    }
    return true;
}

bool add_header_copy(ngx_http_request_t* r, std::string_view name,
                     std::string_view value) noexcept
{
    const ngx_str_t copied = ngx_base::copy(r->pool, value);
    return copied.data != nullptr
           && add_header(r, name, ngx_base::view(copied));
}

bool add_header_number(ngx_http_request_t* r, std::string_view name,
                       std::int64_t value) noexcept
{
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, NGX_INT64_LEN));
    if (text == nullptr) {
        return false;
    }
    char* end = std::to_chars(text, text + NGX_INT64_LEN, value).ptr;
    return add_header(r, name, {text, static_cast<std::size_t>(end - text)});
}

void set_status(ngx_http_request_t* r, ngx_int_t status) noexcept
{
    r->headers_out.status = static_cast<ngx_uint_t>(status);
    r->headers_out.status_line.len = 0;  // of a back end, whose response failed
    // As nginx does for its own errors.
    if (r->err_status != 0 && status >= NGX_HTTP_BAD_REQUEST) {
        r->err_status = r->headers_out.status;
    }
}

void set_content_type(ngx_http_request_t* r, std::string_view type) noexcept
{
    auto& out = r->headers_out;
    out.content_type = ngx_base::borrow(type);
    out.content_type_len = type.size();
    out.content_type_lowcase = nullptr;
}

bool has_header(const ngx_http_request_t* r, std::string_view name) noexcept
{
    bool found = false;
    for_each_line(r->headers_out.headers, [&](const ngx_table_elt_t& line) {
        found |= is_named(line, name);
    });
    return found;
}

void remove_headers(ngx_http_request_t* r,
                    bool (*is_named_so)(std::string_view name)) noexcept
{
    for_each_line(r->headers_out.headers, [&](ngx_table_elt_t& line) {
        if (is_named_so(ngx_base::view(line.key))) {
            line.hash = 0;
        }
    });
}

void keep_first_header(ngx_http_request_t* r, std::string_view name) noexcept
{
    bool found = false;
    for_each_line(r->headers_out.headers, [&](ngx_table_elt_t& line) {
        if (!is_named(line, name)) {
            return;
        }
        if (found) {
            line.hash = 0;
        }
        found = true;
    });
}

void keep_header(ngx_http_request_t* r, std::string_view name,
                 const ngx_table_elt_t& kept) noexcept
{
    for_each_line(r->headers_out.headers, [&](ngx_table_elt_t& line) {
        if (&line != &kept && is_named(line, name)) {
            line.hash = 0;
        }
    });
}

void remove_repeated_headers(ngx_http_request_t* r,
                             std::string_view name) noexcept
{
    auto& headers = r->headers_out.headers;
    for_each_line(headers, [&](const ngx_table_elt_t& line) {
        if (is_named(line, name)) {
            drop_repeated(headers, line);
        }
    });
}

// Extends an existing line, because some caches use only the last one.
bool add_to_vary(ngx_http_request_t* r, std::string_view name) noexcept
{
    ngx_table_elt_t* last = nullptr;
    bool covered = false;
    for_each_line(r->headers_out.headers, [&](ngx_table_elt_t& line) {
        if (is_named(line, "Vary")) {
            last = &line;
            covered |= is_listed(ngx_base::view(line.value), name)
                       || is_listed(ngx_base::view(line.value), "*");
        }
    });
    if (covered) {
        return true;
    }
    if (last == nullptr) {
        return add_header(r, "Vary", name);
    }
    if (last->value.len == 0) {
        last->value = ngx_base::borrow(name);
        return true;
    }
    constexpr std::string_view kComma = ", ";
    auto* text = static_cast<u_char*>(
        ngx_pnalloc(r->pool, last->value.len + kComma.size() + name.size()));
    if (text == nullptr) {
        return false;
    }
    u_char* end = ngx_cpymem(text, last->value.data, last->value.len);
    end = ngx_cpymem(end, kComma.data(), kComma.size());
    end = ngx_cpymem(end, name.data(), name.size());
    last->value = {static_cast<std::size_t>(end - text), text};
    return true;
}

ngx_table_elt_t* find_header(ngx_http_request_t* r, std::string_view name,
                             bool& repeated) noexcept
{
    ngx_table_elt_t* found = nullptr;
    repeated = false;
    for_each_line(r->headers_in.headers, [&](ngx_table_elt_t& line) {
        if (is_named(line, name)) {
            repeated = found != nullptr;
            found = &line;
        }
    });
    return found;
}

}  // namespace petstore::ngx
