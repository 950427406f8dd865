#include "nginx_error.h"

#include <optional>

#include "../../api/error.h"
#include "../module.h"

namespace petstore::ngx {

namespace {

// The status with which nginx refuses the client's connection, in the order of
// ngx_http_process_request(). nullopt if it accepts the connection.
std::optional<int> connection_error(ngx_http_request_t* r) noexcept
{
#if (NGX_HTTP_SSL)
    if (!r->http_connection->ssl) {
        return std::nullopt;
    }
    if (r->connection->ssl == nullptr) {
        return NGX_HTTP_TO_HTTPS;
    }
    const auto& ssl = *static_cast<ngx_http_ssl_srv_conf_t*>(
        ngx_http_get_module_srv_conf(r, ngx_http_ssl_module));
    if (!ssl.verify) {
        return std::nullopt;
    }
    const long result = SSL_get_verify_result(r->connection->ssl->connection);
    if (result != X509_V_OK
        && (ssl.verify != 3 || !ngx_ssl_verify_error_optional(result))) {
        return NGX_HTTPS_CERT_ERROR;
    }
    X509* certificate =
        SSL_get_peer_certificate(r->connection->ssl->connection);
    const bool has_certificate = certificate != nullptr;
    X509_free(certificate);
    if (ssl.verify == 1 && !has_certificate) {
        return NGX_HTTPS_NO_CERT;
    }
    const char* reason = nullptr;
    if (ngx_ssl_ocsp_get_status(r->connection, &reason) != NGX_OK) {
        return NGX_HTTPS_CERT_ERROR;
    }
#else
    static_cast<void>(r);
#endif
    return std::nullopt;
}

// The length of the request's body, which is unknown if it comes in chunks.
// nginx has counted down `content_length_n` while discarding the body.
std::optional<off_t> body_length(const ngx_http_request_t* r) noexcept
{
    const auto* header = r->headers_in.content_length;
    if (header == nullptr) {
        return r->headers_in.chunked ? std::nullopt : std::optional<off_t>(0);
    }
    return ngx_atoof(header->value.data, header->value.len);
}

// The limit that the body exceeds. nullopt if the error may have another cause,
// or another location.
std::optional<std::size_t> exceeded_limit(ngx_http_request_t* r) noexcept
{
    const off_t limit = core_loc_conf(r)->client_max_body_size;
    const auto length = body_length(r);
    if (r->internal || limit <= 0 || (length && *length <= limit)) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(limit);
}

}  // namespace

int nginx_error_status(ngx_http_request_t* r) noexcept
{
    const auto status = static_cast<int>(r->headers_out.status);
    if (status != NGX_HTTP_BAD_REQUEST
        || r->err_status != NGX_HTTP_BAD_REQUEST) {
        return status;
    }
    if (const auto error = connection_error(r)) {
        return *error;
    }
    // Unlike after its other errors with 400, nginx then reads on for a while.
    return r->lingering_close ? NGX_HTTP_REQUEST_HEADER_TOO_LARGE : status;
}

std::string nginx_error_body(ngx_http_request_t* r, int status)
{
    if (status == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE) {
        if (const auto limit = exceeded_limit(r)) {
            return api::error_body(api::payload_too_large(*limit));
        }
    }
    return api::error_body_for_status(status);
}

}  // namespace petstore::ngx
