// Which errors each operation may return. Compilation fails if this table lacks
// a code that the service produces.
#include "errors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../api/error.h"

namespace petstore::openapi {

namespace {

using api::ErrorCode;
using api::Operation;

// A set of operations.
using Operations = std::uint32_t;

template <typename... More>
constexpr Operations set_of(More... operations)
{
    return ((Operations{1} << static_cast<unsigned>(operations)) | ...);
}

using Op = Operation;
constexpr Operations kList = set_of(Op::list_pets);
constexpr Operations kCreate = set_of(Op::create_pet);
constexpr Operations kGet = set_of(Op::get_pet);
constexpr Operations kUsage = set_of(Op::get_usage);
constexpr Operations kPets = kList | kCreate | kGet;

// Of the admin API.
constexpr Operations kAdminLists =
    set_of(Op::list_accounts, Op::list_keys, Op::list_usage);
constexpr Operations kAdminReads =
    kAdminLists
    | set_of(Op::get_account, Op::get_account_usage, Op::get_key,
             Op::list_plans);
constexpr Operations kActions = set_of(Op::unban_account, Op::reset_account);
constexpr Operations kPosts =
    kActions | set_of(Op::create_account, Op::create_key, Op::rotate_key);
constexpr Operations kPatches = set_of(Op::update_account, Op::update_key);
constexpr Operations kDeletes =
    set_of(Op::delete_account, Op::delete_key, Op::delete_plan);
constexpr Operations kPlan = set_of(Op::put_plan);
constexpr Operations kBodies = kPosts | kPatches | kPlan;
constexpr Operations kChanges = kBodies | kDeletes;
constexpr Operations kAdmin = kAdminReads | kChanges;
constexpr Operations kNeedBody =
    set_of(Op::create_account, Op::create_key) | kPatches | kPlan;
// Of one account, key or plan.
constexpr Operations kNamed = kActions | kPatches | kDeletes | kPlan
                              | set_of(Op::get_account, Op::get_account_usage,
                                       Op::get_key, Op::rotate_key);
constexpr Operations kAll = kPets | kUsage | kAdmin;

// An error from the service.
struct Row {
    ErrorCode code;
    Operations operations;
    std::string_view message;  // an example
};

constexpr Row kErrors[] = {
    {ErrorCode::invalid_json, kCreate | kBodies, "The body is not valid JSON."},
    {ErrorCode::missing_body, kCreate | kBodies, "The request needs a body."},
    {ErrorCode::missing_field, kCreate, "name is required."},
    {ErrorCode::missing_field, kPlan, "per_minute is required."},
    {ErrorCode::invalid_field, kCreate, "name must be a string."},
    {ErrorCode::invalid_field,
     kBodies & ~kPlan & ~kActions & ~set_of(Op::rotate_key),
     "label must be a string."},
    {ErrorCode::invalid_field, kPlan,
     "per_minute must be an integer from 1 to 1000000000000."},
    {ErrorCode::invalid_field, kActions | set_of(Op::rotate_key),
     "The body has a member that this operation does not know."},
    {ErrorCode::read_only_field, kCreate,
     "id is assigned by the service and must not be sent."},
    {ErrorCode::read_only_field, kNeedBody & ~kPlan, "id cannot be set."},
    {ErrorCode::read_only_field, kPlan, "name cannot be set."},
    {ErrorCode::invalid_parameter, kList | kAdminLists,
     "limit must be an integer from 1 to 100."},
    {ErrorCode::invalid_parameter, set_of(Op::get_account_usage),
     "by must be day or month."},
    {ErrorCode::invalid_parameter, kCreate | kPosts,
     "The header Idempotency-Key must be one value of 1 to 255 visible ASCII characters."},
    {ErrorCode::bad_request, kAll, "The request is not valid."},
    {ErrorCode::missing_api_key, kAll,
     "An API key is required: \"Authorization: Bearer <API_KEY>\"."},
    {ErrorCode::invalid_api_key, kAll, "The API key is not valid."},
    {ErrorCode::insufficient_scope, kPets | kAdmin,
     "The API key lacks the scope for this operation."},
    {ErrorCode::plan_not_allowed, kPets | kAdmin,
     "The plan of this API key does not include this resource."},
    {ErrorCode::cost_exceeds_plan, kPets | kAdmin,
     "The cost of this request, 100, exceeds the limit of 60 requests per minute."},
    {ErrorCode::pet_not_found, kGet, "There is no pet with this id."},
    {ErrorCode::not_found, kGet, "The path does not exist."},
    {ErrorCode::not_found, kNamed, "There is no such account."},
    {ErrorCode::method_not_allowed, kAll,
     "This method is not allowed here; see the Allow header."},
    {ErrorCode::request_timeout, kCreate | kBodies,
     "The request body did not arrive in time."},
    {ErrorCode::external_id_taken,
     set_of(Op::create_account, Op::update_account),
     "Another account has this external id."},
    {ErrorCode::account_in_use, set_of(Op::delete_account),
     "The account has keys; delete these first."},
    {ErrorCode::plan_in_use, set_of(Op::delete_plan),
     "A key or an account has this plan."},
    {ErrorCode::too_many_plans, kPlan,
     "Redis has 1000 plans, which is the maximum."},
    {ErrorCode::key_exists, set_of(Op::create_key), "This key exists already."},
    {ErrorCode::already_rotated, set_of(Op::rotate_key),
     "The key was rotated before."},
    {ErrorCode::own_key, kPatches | set_of(Op::delete_account, Op::delete_key),
     "The key or account of the request itself cannot be changed."},
    {ErrorCode::gone, kGet,
     "This operation has been shut down; list pets instead."},
    {ErrorCode::payload_too_large, kCreate | kBodies,
     "The request body must not be larger than 16384 bytes."},
    {ErrorCode::uri_too_long, kAll, "The URI of the request is too long."},
    {ErrorCode::unsupported_media_type, kCreate | kBodies,
     "The body must be application/json in UTF-8."},
    {ErrorCode::idempotency_key_reused, kCreate | kPosts,
     "This Idempotency-Key was used with another body."},
    {ErrorCode::rate_limit_exceeded, kAll,
     "Rate limit exceeded: 60 requests per minute. Retry in 30 seconds."},
    {ErrorCode::api_key_banned, kPets | kAdmin,
     "This API key is banned for too many requests over its limit. Retry in 300 seconds."},
    {ErrorCode::internal_error, kAll,
     "The service failed to handle the request."},
    {ErrorCode::service_unavailable, kAll,
     "The service is temporarily unavailable. Try again later."},
    {ErrorCode::outcome_unknown, kCreate | kChanges,
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
    Operations operations;
};

constexpr NginxRow kNginxErrors[] = {
    {401, kAll},                            // auth_basic, auth_request
    {403, kAll},                            // deny
    {412, kList | kGet | kUsage | kAdmin},  // If-Match: there is no ETag
    {429, kAll},                            // limit_req, limit_conn
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

std::vector<ErrorCase> errors_of(Operation operation,
                                 std::string_view key_header)
{
    std::vector<ErrorCase> cases;
    for (const Row& row : kErrors) {
        if ((row.operations & set_of(operation)) != 0) {
            const int status = api::http_status(row.code);
            const auto code = api::code_name(row.code);
            cases.push_back(
                {status, code, api::error_body(code, row.message, status)});
        }
    }
    for (const NginxRow& row : kNginxErrors) {
        if ((row.operations & set_of(operation)) != 0) {
            cases.push_back({api::client_status(row.status),
                             api::code_name_for_status(row.status),
                             api::error_body_for_status(row.status)});
        }
    }
    const auto code = api::code_name(ErrorCode::invalid_parameter);
    const bool is_listed =
        std::any_of(cases.begin(), cases.end(),
                    [&](const ErrorCase& one) { return one.code == code; });
    if (!key_header.empty() && !is_listed) {
        const std::string message =
            "The header " + std::string(key_header) + " must not be repeated.";
        const int status = api::http_status(ErrorCode::invalid_parameter);
        cases.push_back({status, code, api::error_body(code, message, status)});
    }
    std::stable_sort(cases.begin(), cases.end(),
                     [](const ErrorCase& a, const ErrorCase& b) {
                         return a.status < b.status;
                     });
    return cases;
}

std::string_view description_of(int status, Operation operation) noexcept
{
    const bool is_admin = (set_of(operation) & kAdmin) != 0;
    const bool has_limits = operation != Operation::get_usage;
    switch (status) {
    case 304:
        return "The request has \"If-None-Match: *\"; without it, the answer would be 200.";
    case 400:
        return "The request is not valid; the message says why.";
    case 401:
        return "No API key was sent, or one that is unknown, expired, disabled or deleted.";
    case 403:
        return has_limits
                   ? "The API key lacks the scope for this operation, its plan is too small for the cost of this request, or the server refuses this client."
                   : "The server refuses this client.";
    case 404:
        return is_admin ? "There is no such object or path."
                        : "There is no such pet or path.";
    case 405:
        return "The path does not support this method.";
    case 408:
        return "The request body did not arrive in time.";
    case 409:
        return "The change conflicts with what there is; the code says how.";
    case 410:
        return "The operation has been shut down.";
    case 412:
        return is_admin
                   ? "The request has an If-Match, or a change has \"If-None-Match: *\"; nothing here has an ETag."
                   : "The request has an If-Match, and the resource has no ETag.";
    case 413:
        return "The request body is too large.";
    case 414:
        return "The URI is too long.";
    case 415:
        return "The request body is not JSON in UTF-8, or is compressed.";
    case 422:
        return "The Idempotency-Key was used with another body.";
    case 429:
        return has_limits
                   ? "The account is over its limit or banned, or the server limits this client."
                   : "The server limits this client.";
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
