#include "error.h"

#include <iterator>

#include "text.h"

namespace petstore::api {
namespace {

struct Row {
    ErrorCode code;
    int status;
    std::string_view name;
};

constexpr Row kErrors[] = {
    {ErrorCode::invalid_json, 400, "invalid_json"},
    {ErrorCode::missing_body, 400, "missing_body"},
    {ErrorCode::missing_field, 400, "missing_field"},
    {ErrorCode::invalid_field, 400, "invalid_field"},
    {ErrorCode::read_only_field, 400, "read_only_field"},
    {ErrorCode::invalid_parameter, 400, "invalid_parameter"},
    {ErrorCode::bad_request, 400, "bad_request"},
    {ErrorCode::missing_api_key, 401, "missing_api_key"},
    {ErrorCode::invalid_api_key, 401, "invalid_api_key"},
    {ErrorCode::insufficient_scope, 403, "insufficient_scope"},
    {ErrorCode::plan_not_allowed, 403, "plan_not_allowed"},
    {ErrorCode::cost_exceeds_plan, 403, "cost_exceeds_plan"},
    {ErrorCode::pet_not_found, 404, "pet_not_found"},
    {ErrorCode::not_found, 404, "not_found"},
    {ErrorCode::method_not_allowed, 405, "method_not_allowed"},
    {ErrorCode::request_timeout, 408, "request_timeout"},
    {ErrorCode::external_id_taken, 409, "external_id_taken"},
    {ErrorCode::account_in_use, 409, "account_in_use"},
    {ErrorCode::plan_in_use, 409, "plan_in_use"},
    {ErrorCode::too_many_plans, 409, "too_many_plans"},
    {ErrorCode::key_exists, 409, "key_exists"},
    {ErrorCode::already_rotated, 409, "already_rotated"},
    {ErrorCode::own_key, 409, "own_key"},
    {ErrorCode::gone, 410, "gone"},
    {ErrorCode::payload_too_large, 413, "payload_too_large"},
    {ErrorCode::uri_too_long, 414, "uri_too_long"},
    {ErrorCode::unsupported_media_type, 415, "unsupported_media_type"},
    {ErrorCode::idempotency_key_reused, 422, "idempotency_key_reused"},
    {ErrorCode::rate_limit_exceeded, 429, "rate_limit_exceeded"},
    {ErrorCode::api_key_banned, 429, "api_key_banned"},
    {ErrorCode::internal_error, 500, "internal_error"},
    {ErrorCode::service_unavailable, 503, "service_unavailable"},
    {ErrorCode::outcome_unknown, 503, "outcome_unknown"},
};

constexpr bool in_order_of_enum()
{
    for (std::size_t i = 0; i < std::size(kErrors); ++i) {
        if (kErrors[i].code != static_cast<ErrorCode>(i)) {
            return false;
        }
    }
    return kErrors[std::size(kErrors) - 1].code == ErrorCode::outcome_unknown;
}

static_assert(in_order_of_enum(), "rows are found by their index");

const Row& row_of(ErrorCode code) noexcept
{
    return kErrors[static_cast<std::size_t>(code)];
}

struct Generic {
    std::string_view code;
    std::string_view message;
};

Generic generic_error(int status) noexcept
{
    switch (status) {
    case 401:
        return {"unauthorized", "Authentication is required."};
    case 403:
        return {"forbidden", "Access to this resource is not allowed."};
    case 404:
        return {"not_found", "There is no such resource."};
    case 405:
        return {"method_not_allowed",
                "This resource does not support the method of the request."};
    case 408:
        return {"request_timeout", "The request did not arrive in time."};
    case 410:
        return {"gone", "This resource is no longer available."};
    case 411:
        return {"length_required", "The request needs a Content-Length."};
    case 413:
        return {"payload_too_large", "The body of the request is too large."};
    case 414:
        return {"uri_too_long", "The URI of the request is too long."};
    case 415:
        return {"unsupported_media_type",
                "The media type of the request is not supported."};
    case 429:
        return {"too_many_requests", "There were too many requests."};
    case 431:
        return {"bad_request", "The header of the request is too large."};
    case 494:
        return {"header_too_large", "The header of the request is too large."};
    case 495:
        return {"invalid_client_certificate",
                "The client certificate is not valid."};
    case 496:
        return {"client_certificate_required",
                "This server requires a client certificate."};
    case 497:
        return {"https_required",
                "The request was sent as plain HTTP to an HTTPS port."};
    case 501:
        return {"not_implemented",
                "The requested functionality is not implemented."};
    case 502:
    case 503:
    case 504:
        return {"service_unavailable",
                "The service is temporarily unavailable. Try again later."};
    case 505:
        return {"http_version_not_supported",
                "The HTTP version of the request is not supported."};
    default:
        return status >= 500
                   ? Generic{"internal_error",
                             "The service failed to handle the request."}
                   : Generic{"bad_request", "The request is not valid."};
    }
}

}  // namespace

Error payload_too_large(std::size_t limit)
{
    return {ErrorCode::payload_too_large,
            "The request body must not be larger than " + std::to_string(limit)
                + " bytes."};
}

int http_status(ErrorCode code) noexcept
{
    return row_of(code).status;
}

std::string_view code_name(ErrorCode code) noexcept
{
    return row_of(code).name;
}

std::string error_body(std::string_view code, std::string_view message,
                       int status)
{
    std::string out;
    out.reserve(code.size() + message.size() + 48);
    out.append("{\"code\":");
    append_json_string(out, code);
    out.append(",\"message\":");
    append_json_string(out, message);
    out.append(",\"status\":");
    append_int(out, status);
    out.push_back('}');
    return out;
}

std::string error_body(const Error& error)
{
    const Row& row = row_of(error.code);
    return error_body(row.name, error.message.text(), row.status);
}

std::string error_body_for_status(int status)
{
    const Generic generic = generic_error(status);
    return error_body(generic.code, generic.message, client_status(status));
}

std::string_view code_name_for_status(int status) noexcept
{
    return generic_error(status).code;
}

// nginx uses the internal ones only to select an error_page.
int client_status(int status) noexcept
{
    return status >= 494 && status <= 497 ? 400 : status;
}

bool is_retryable_status(int status) noexcept
{
    return status == 429 || status == 503;
}

}  // namespace petstore::api
