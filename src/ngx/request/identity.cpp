#include "identity.h"

#include <algorithm>
#include <array>
#include <new>

#include "../../api/bearer.h"
#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../../service/find_key.h"
#include "../nginx/server_variants.h"
#include "http_request.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

struct IdentityHeader {
    constexpr IdentityHeader(std::string_view header,
                             std::string_view header_in_lower_case) noexcept
        : name(header), lower_case(header_in_lower_case)
    {
        for (const char c : lower_case) {
            hash = ngx_hash(hash, static_cast<u_char>(c));
        }
    }

    std::string_view name;
    std::string_view lower_case;
    ngx_uint_t hash = 0;  // as ngx_hash_key() of nginx
};

constexpr std::array<IdentityHeader, 4> kIdentity{{
    {"X-Account", "x-account"},
    {"X-External-Id", "x-external-id"},
    {"X-Plan", "x-plan"},
    {"X-Key-Id", "x-key-id"},
}};

constexpr std::string_view kAuthorization = "Authorization";
constexpr std::string_view kVariablePrefix = "http_";

char folded(char c) noexcept
{
    const char lower = static_cast<char>(ngx_tolower(c));
    return (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9')
               ? lower
               : '_';
}

// Handlers that pass headers on as variables make one of "-" and "_", and PHP
// of "." and others, which `ignore_invalid_headers off` lets through. For PHP,
// "X-Account[a]" is an element of the variable.
bool is_same_variable(std::string_view sent, std::string_view name) noexcept
{
    const bool is_element =
        sent.size() > name.size() && sent[name.size()] == '[';
    return (sent.size() == name.size() || is_element)
           && std::equal(
               name.begin(), name.end(), sent.begin(),
               [](char x, char y) { return x == y || folded(x) == folded(y); });
}

bool is_identity(std::string_view name) noexcept
{
    return std::any_of(kIdentity.begin(), kIdentity.end(),
                       [&](const IdentityHeader& header) {
                           return is_same_variable(name, header.name);
                       });
}

// Whether the line is Authorization and has the key, too, as a token or alone.
// If the header of the key is empty or repeated, the request is refused, and
// what Authorization has may be a valid key.
bool has_key(const ngx_table_elt_t& line, const service::SentKey& key) noexcept
{
    const std::string_view value = ngx_base::view(line.value);
    return is_same_variable(ngx_base::view(line.key), kAuthorization)
           && (key.text.empty() || key.repeated
               || api::bearer_token(value) == key.text
               || api::trimmed(value) == key.text);
}

// Builds a request's header list from new parts, because subrequests, which
// copy the list's head, share the old ones. Lines never move: nginx and other
// modules point to them.
class HeaderParts {
public:
    explicit HeaderParts(ngx_http_request_t* r) noexcept
        : list_(r->headers_in.headers), pool_(r->pool)
    {}

    void clear() noexcept
    {
        list_.part = {nullptr, 0, nullptr};
        list_.last = &list_.part;
    }

    // nginx adds lines to the last part. False if out of memory.
    bool make_room() noexcept
    {
        if (list_.part.nelts == 0) {
            list_.part.elts = ngx_palloc(pool_, sizeof(ngx_table_elt_t));
            list_.nalloc = 1;
        }
        return list_.part.elts != nullptr;
    }

    // nginx's loops over a list expect lines in every part but the first, so
    // `count` is at least 1. False if out of memory.
    bool append(ngx_table_elt_t* lines, ngx_uint_t count) noexcept
    {
        ngx_list_part_t* part = &list_.part;
        if (list_.part.nelts != 0) {
            part = static_cast<ngx_list_part_t*>(
                ngx_palloc(pool_, sizeof(ngx_list_part_t)));
            if (part == nullptr) {
                return false;
            }
            list_.last->next = part;
        }
        *part = {lines, count, nullptr};
        list_.last = part;
        // The part is full: what follows in memory may be somebody else's.
        list_.nalloc = count;
        return true;
    }

private:
    ngx_list_t& list_;
    ngx_pool_t* pool_;
};

// Keeps the lines for which `is_kept` returns true.
template <typename Predicate>
bool filter_lines(ngx_http_request_t* r, Predicate&& is_kept) noexcept
{
    const ngx_list_part_t old = r->headers_in.headers.part;
    HeaderParts parts(r);
    bool complete = true;
    parts.clear();
    for (const auto* part = &old; part != nullptr; part = part->next) {
        auto* lines = static_cast<ngx_table_elt_t*>(part->elts);
        ngx_uint_t begin = 0;  // of a run of lines to keep
        for (ngx_uint_t i = 0; i <= part->nelts; ++i) {
            if (i < part->nelts && is_kept(lines[i])) {
                continue;
            }
            if (i > begin) {
                complete = complete && parts.append(lines + begin, i - begin);
            }
            begin = i + 1;
        }
    }
    return complete && parts.make_room();
}

ngx_int_t header_variable(ngx_http_request_t* r,
                          ngx_http_variable_value_t* value,
                          uintptr_t data) noexcept
{
    auto& name = *reinterpret_cast<ngx_str_t*>(data);
    return http_variable(r, value, name, r->headers_in.headers.part);
}

const HiddenLine* hidden_line(const RequestInfo& info,
                              std::string_view name) noexcept
{
    const HiddenLine* hidden = info.hidden_lines;
    while (hidden != nullptr
           && !is_same_variable(ngx_base::view(hidden->line.key), name)) {
        hidden = hidden->next;
    }
    return hidden;
}

// False if out of memory.
bool remember(ngx_http_request_t* r, RequestInfo& info,
              const ngx_table_elt_t& line) noexcept
{
    if (hidden_line(info, ngx_base::view(line.key)) != nullptr) {
        return true;
    }
    void* memory = ngx_palloc(r->pool, sizeof(HiddenLine));
    if (memory == nullptr) {
        return false;
    }
    info.hidden_lines = new (memory) HiddenLine{line, info.hidden_lines};
    return true;
}

ngx_int_t key_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                       uintptr_t data) noexcept
{
    const auto name = ngx_base::view(*reinterpret_cast<ngx_str_t*>(data))
                          .substr(kVariablePrefix.size());
    const RequestInfo* info = find_request_info(r);
    const auto* hidden = info == nullptr ? nullptr : hidden_line(*info, name);
    if (hidden == nullptr) {
        return header_variable(r, value, data);
    }
    const ngx_str_t& text = hidden->line.value;
    value->valid = 1;
    value->not_found = 0;
    value->no_cacheable = 0;
    value->len = static_cast<unsigned>(text.len);
    value->data = text.data;
    return NGX_OK;
}

// `set` and other modules may define the variable, too.
ngx_int_t add_variable(ngx_conf_t* cf, std::string_view header,
                       ngx_http_get_variable_pt get, ngx_uint_t flags) noexcept
{
    auto* name =
        static_cast<ngx_str_t*>(ngx_palloc(cf->pool, sizeof(ngx_str_t)));
    auto* text = static_cast<u_char*>(
        ngx_pnalloc(cf->pool, kVariablePrefix.size() + header.size()));
    if (name == nullptr || text == nullptr) {
        return NGX_ERROR;
    }
    u_char* end =
        std::copy(kVariablePrefix.begin(), kVariablePrefix.end(), text);
    end = std::transform(header.begin(), header.end(), end, folded);
    *name = {static_cast<std::size_t>(end - text), text};
    auto* variable =
        ngx_http_add_variable(cf, name, NGX_HTTP_VAR_CHANGEABLE | flags);
    if (variable == nullptr) {
        return NGX_ERROR;
    }
    if (variable->get_handler == nullptr) {
        variable->get_handler = get;
        variable->data = reinterpret_cast<uintptr_t>(name);
    }
    return NGX_OK;
}

}  // namespace

bool hide_identity(ngx_http_request_t* r, RequestInfo& info,
                   const LocConf& conf)
{
    if (!conf.identity_headers) {
        return true;
    }
    const service::SentKey& key =
        service::read_key(HttpRequest(r, conf), conf.service, info.service);
    const std::string_view own_header = conf.service.key_header;
    bool complete = true;
    const bool filtered = filter_lines(r, [&](const ngx_table_elt_t& line) {
        const std::string_view name = ngx_base::view(line.key);
        if (is_same_variable(name, key.header_name) || has_key(line, key)
            || (!own_header.empty() && is_same_variable(name, own_header))) {
            complete = remember(r, info, line) && complete;
        } else if (!is_identity(name)) {
            return true;
        }
        if (r->headers_in.authorization == &line) {
            r->headers_in.authorization = nullptr;
        }
        return false;
    });
    return filtered && complete;
}

bool show_identity(ngx_http_request_t* r, const store::CachedKey& key) noexcept
{
    const std::array<std::string_view, kIdentity.size()> values{
        key.account->id(), key.record.external_id(), key.record.plan(),
        key.record.id()};
    // Copied, because the record may be replaced while the request lasts.
    std::size_t size = 0;
    for (const std::string_view value : values) {
        size += value.size() + 1;
    }
    auto* lines = static_cast<ngx_table_elt_t*>(
        ngx_palloc(r->pool, sizeof(ngx_table_elt_t) * values.size() + size));
    if (lines == nullptr) {
        return false;
    }
    auto* text = reinterpret_cast<u_char*>(lines + values.size());
    ngx_uint_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].empty()) {
            continue;
        }
        ngx_table_elt_t& line = lines[count++];
        line.hash = kIdentity[i].hash;
        line.key = ngx_base::borrow(kIdentity[i].name);
        line.lowcase_key = ngx_base::borrow(kIdentity[i].lower_case).data;
        line.value = {values[i].size(), text};
        clear_next(line);
        text = ngx_cpymem(text, values[i].data(), values[i].size());
        *text++ = '\0';
    }
    return HeaderParts(r).append(lines, count);
}

ngx_int_t add_identity_variables(ngx_conf_t* cf) noexcept
{
    for (const auto& header : kIdentity) {
        if (add_variable(cf, header.name, header_variable,
                         NGX_HTTP_VAR_NOCACHEABLE)
            != NGX_OK) {
            return NGX_ERROR;
        }
    }
    return add_key_variable(cf, kAuthorization);
}

ngx_int_t add_key_variable(ngx_conf_t* cf, std::string_view header) noexcept
{
    return add_variable(cf, header, key_variable, 0);
}

}  // namespace petstore::ngx
