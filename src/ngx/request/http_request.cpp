#include "http_request.h"

#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/headers.h"
#include "../worker/worker.h"
#include "../worker/zone.h"
#include "address_limit.h"

namespace petstore::ngx {

namespace {

// Keeps $1 and so on as the location's regular expression has set them, for
// proxy_pass or alias, while a variable is evaluated that may use another one.
class KeptCaptures {
public:
    explicit KeptCaptures(ngx_http_request_t& r) noexcept : r_(r)
    {
#if (NGX_PCRE)
        r.realloc_captures = 1;  // nginx then allocates a new array
#endif
    }
    ~KeptCaptures()
    {
#if (NGX_PCRE)
        r_.captures = captures_;
        r_.ncaptures = count_;
        r_.captures_data = data_;
        r_.realloc_captures = shared_;
#endif
    }
    KeptCaptures(const KeptCaptures&) = delete;

private:
    ngx_http_request_t& r_;
#if (NGX_PCRE)
    int* const captures_ = r_.captures;
    const ngx_uint_t count_ = r_.ncaptures;
    u_char* const data_ = r_.captures_data;
    const bool shared_ = r_.realloc_captures;
#endif
};

// r->method_name is empty if the request line is invalid, and its error page
// may be in a location of ours.
api::Method method_of(const ngx_http_request_t* r) noexcept
{
    switch (r->method) {
    case NGX_HTTP_GET:
        return api::Method::get;
    case NGX_HTTP_HEAD:
        return api::Method::head;
    case NGX_HTTP_POST:
        return api::Method::post;
    case NGX_HTTP_PUT:
        return api::Method::put;
    case NGX_HTTP_PATCH:
        return api::Method::patch;
    case NGX_HTTP_DELETE:
        return api::Method::del;
    case NGX_HTTP_OPTIONS:
        return api::Method::options;
    case NGX_HTTP_TRACE:
        return api::Method::trace;
    default:
        return api::Method::other;
    }
}

api::Method method_named(std::string_view name) noexcept
{
    return name == "GET"       ? api::Method::get
           : name == "HEAD"    ? api::Method::head
           : name == "POST"    ? api::Method::post
           : name == "PUT"     ? api::Method::put
           : name == "PATCH"   ? api::Method::patch
           : name == "DELETE"  ? api::Method::del
           : name == "OPTIONS" ? api::Method::options
           : name == "TRACE"   ? api::Method::trace
                               : api::Method::other;
}

}  // namespace

api::Method HttpRequest::method() const noexcept
{
    return method_of(r_);
}

// nginx changes the method when it redirects the request, but never the request
// line. HTTP/2 and HTTP/3 have one, too.
api::Method HttpRequest::client_method() const noexcept
{
    const std::string_view line = ngx_base::view(r_->main->request_line);
    return method_named(line.substr(0, line.find(' ')));
}

std::string_view HttpRequest::path() const noexcept
{
    return ngx_base::view(r_->uri);
}

std::string_view HttpRequest::query() const noexcept
{
    return ngx_base::view(r_->args);
}

std::optional<service::Request::Field>
HttpRequest::header(std::string_view name) const noexcept
{
    const auto& in = r_->headers_in;
    bool repeated = false;
    const ngx_table_elt_t* const line =
        name == "Authorization"   ? in.authorization
        : name == "If-Match"      ? in.if_match
        : name == "If-None-Match" ? in.if_none_match
                                  : find_header(r_, name, repeated);
    if (line == nullptr) {
        return std::nullopt;
    }
    // nginx leaves a tab at the end, and in HTTP/2 spaces at either end.
    return Field{api::trimmed(ngx_base::view(line->value)), repeated};
}

std::int64_t HttpRequest::content_length() const noexcept
{
    return r_->headers_in.content_length_n;
}

std::int64_t HttpRequest::cost() noexcept
{
    const auto index = static_cast<ngx_uint_t>(conf_.cost_variable);
    const KeptCaptures kept(*r_);
    const auto* value = ngx_http_get_flushed_variable(r_, index);
    if (value != nullptr && value->valid) {
        const std::string_view text(reinterpret_cast<const char*>(value->data),
                                    value->len);
        if (const auto cost = api::parse_cost(text)) {
            return *cost;
        }
    }
    // The value is not logged: it may come from the client.
    if (Worker::current()->cost_line(conf_).due()) {
        const auto* variables = static_cast<const ngx_http_variable_t*>(
            core_main_conf(r_)->variables.elts);
        ngx_log_error(
            NGX_LOG_ERR, r_->connection->log, 0,
            "petstore: the request costs 1, because \"$%V\" of \"petstore_cost\" is not a number from 1 to %L",
            &variables[index].name, api::kMaxCost);
    }
    return 1;
}

service::AddressWindow HttpRequest::count_address() noexcept
{
    return count_in_address_window(r_, Zone(conf_.main->zone),
                                   conf_.anonymous_limit);
}

}  // namespace petstore::ngx
