// Which errors each operation may return. Compilation fails if this table lacks
// a code that the service produces.
#include "errors.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "../api/error.h"

namespace petstore::openapi {

namespace {

using api::ErrorCode;
using api::Operation;

constexpr unsigned kList = 1;
constexpr unsigned kCreate = 2;
constexpr unsigned kGet = 4;
constexpr unsigned kUsage = 8;
constexpr unsigned kPets = kList | kCreate | kGet;
constexpr unsigned kAll = kPets | kUsage;
constexpr unsigned kNone = 0;  // those of the admin API

constexpr unsigned bit_of(Operation operation)
{
    switch (operation) {
    case Operation::list_pets:
        return kList;
    case Operation::create_pet:
        return kCreate;
    case Operation::get_pet:
        return kGet;
    case Operation::get_usage:
        return kUsage;
    default:
        return kNone;
    }
}

// An error from the service.
struct Row {
    ErrorCode code;
    unsigned operations;
    std::string_view message;  // an example
};

constexpr Row kErrors[] = {
    {ErrorCode::invalid_json, kCreate, "The body is not valid JSON."},
    {ErrorCode::missing_body, kCreate, "The request needs a body."},
    {ErrorCode::missing_field, kCreate, "name is required."},
    {ErrorCode::invalid_field, kCreate, "name must be a string."},
    {ErrorCode::read_only_field, kCreate,
     "id is assigned by the service and must not be sent."},
    {ErrorCode::invalid_parameter, kList,
     "limit must be an integer from 1 to 100."},
    {ErrorCode::invalid_parameter, kCreate,
     "The header Idempotency-Key must be one value of 1 to 255 visible ASCII characters."},
    {ErrorCode::bad_request, kAll, "The request is not valid."},
    {ErrorCode::missing_api_key, kAll,
     "An API key is required: \"Authorization: Bearer <API_KEY>\"."},
    {ErrorCode::invalid_api_key, kAll, "The API key is not valid."},
    {ErrorCode::insufficient_scope, kPets,
     "The API key lacks the scope for this operation."},
    {ErrorCode::plan_not_allowed, kPets,
     "The plan of this API key does not include this resource."},
    {ErrorCode::cost_exceeds_plan, kPets,
     "The cost of this request, 100, exceeds the limit of 60 requests per minute."},
    {ErrorCode::pet_not_found, kGet, "There is no pet with this id."},
    {ErrorCode::not_found, kGet, "The path does not exist."},
    {ErrorCode::method_not_allowed, kAll,
     "This method is not allowed here; see the Allow header."},
    {ErrorCode::request_timeout, kCreate,
     "The request body did not arrive in time."},
    {ErrorCode::external_id_taken, kNone,
     "Another account has this external id."},
    {ErrorCode::account_in_use, kNone,
     "The account has keys; delete these first."},
    {ErrorCode::plan_in_use, kNone, "A key or an account has this plan."},
    {ErrorCode::too_many_plans, kNone,
     "Redis has 1000 plans, which is the maximum."},
    {ErrorCode::key_exists, kNone, "This key exists already."},
    {ErrorCode::already_rotated, kNone, "The key was rotated before."},
    {ErrorCode::own_key, kNone,
     "This is the key, or the account, of the request."},
    {ErrorCode::gone, kGet,
     "This operation has been shut down; list pets instead."},
    {ErrorCode::payload_too_large, kCreate,
     "The request body must not be larger than 16384 bytes."},
    {ErrorCode::uri_too_long, kAll, "The URI of the request is too long."},
    {ErrorCode::unsupported_media_type, kCreate,
     "The body must be application/json in UTF-8."},
    {ErrorCode::idempotency_key_reused, kCreate,
     "This Idempotency-Key was used with another body."},
    {ErrorCode::rate_limit_exceeded, kAll,
     "Rate limit exceeded: 60 requests per minute. Retry in 30 seconds."},
    {ErrorCode::api_key_banned, kPets,
     "This API key is banned for too many requests over its limit. Retry in 300 seconds."},
    {ErrorCode::internal_error, kAll,
     "The service failed to handle the request."},
    {ErrorCode::service_unavailable, kAll,
     "The service is temporarily unavailable. Try again later."},
    {ErrorCode::outcome_unknown, kCreate,
     "The change was not confirmed: it may or may not have been made. Check before you repeat the request, or repeat it with the same Idempotency-Key."},
};

constexpr bool is_complete()
{
    int next = 0;
    for (const Row& row : kErrors) {
        const int code = static_cast<int>(row.code);
        if (code > next) {
            return false;
        }
        next = code + 1;
    }
    return next == static_cast<int>(ErrorCode::outcome_unknown) + 1;
}

static_assert(is_complete(), "every code has a row, in the enum's order");

// An error from nginx, in the location or in front of it.
struct NginxRow {
    int status;
    unsigned operations;
};

constexpr NginxRow kNginxErrors[] = {
    {401, kAll},                   // auth_basic, auth_request
    {403, kAll},                   // deny
    {412, kList | kGet | kUsage},  // If-Match: there is no ETag
    {429, kAll},                   // limit_req, limit_conn
    {494, kAll},  // large_client_header_buffers; the client gets 400
    {495, kAll},  // ssl_verify_client; the client gets 400
    {496, kAll},  // likewise
    {497, kAll},  // plain HTTP to a TLS port; the client gets 400
    {501, kAll},  // an unknown Transfer-Encoding
    {502, kAll},  // from a proxy in front
    {504, kAll},
    {505, kAll},
};

}  // namespace

std::vector<ErrorCase> errors_of(Operation operation)
{
    std::vector<ErrorCase> cases;
    for (const Row& row : kErrors) {
        if ((row.operations & bit_of(operation)) != 0) {
            const int status = api::http_status(row.code);
            const auto code = api::code_name(row.code);
            cases.push_back(
                {status, code, api::error_body(code, row.message, status)});
        }
    }
    for (const NginxRow& row : kNginxErrors) {
        if ((row.operations & bit_of(operation)) != 0) {
            cases.push_back({api::client_status(row.status),
                             api::code_name_for_status(row.status),
                             api::error_body_for_status(row.status)});
        }
    }
    std::stable_sort(cases.begin(), cases.end(),
                     [](const ErrorCase& a, const ErrorCase& b) {
                         return a.status < b.status;
                     });
    return cases;
}

std::string_view description_of(int status) noexcept
{
    switch (status) {
    case 400:
        return "The request is not valid; the message says why.";
    case 401:
        return "No API key was sent, or one that is unknown, expired, disabled or deleted.";
    case 403:
        return "The API key lacks the scope for this operation, its plan is too small for the cost of this request, or the server refuses this client.";
    case 404:
        return "There is no such pet or path.";
    case 405:
        return "The path does not support this method.";
    case 408:
        return "The request body did not arrive in time.";
    case 410:
        return "The operation has been shut down.";
    case 412:
        return "The request has an If-Match, and the resource has no ETag.";
    case 413:
        return "The request body is too large.";
    case 414:
        return "The URI is too long.";
    case 415:
        return "The request body is not JSON in UTF-8, or is compressed.";
    case 422:
        return "The Idempotency-Key was used with another body.";
    case 429:
        return "The account is over its limit or banned, or the server limits this client.";
    case 500:
        return "The service failed.";
    case 501:
        return "The server does not support the transfer encoding.";
    case 502:
    case 504:
        return "A proxy could not reach the service.";
    case 503:
        return "The service is temporarily unavailable.";
    case 505:
        return "The server does not support the HTTP version.";
    default:
        return {};
    }
}

}  // namespace petstore::openapi
