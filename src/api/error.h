#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace petstore::api {

// The errors that the service itself produces. Only the table in error.cpp maps
// them to an HTTP status and a public name.
enum class ErrorCode {
    invalid_json,
    missing_body,
    missing_field,
    invalid_field,
    read_only_field,
    invalid_parameter,
    bad_request,
    missing_api_key,
    invalid_api_key,
    insufficient_scope,
    plan_not_allowed,
    cost_exceeds_plan,
    pet_not_found,
    not_found,
    method_not_allowed,
    request_timeout,
    external_id_taken,
    account_in_use,
    plan_in_use,
    too_many_plans,
    key_exists,
    already_rotated,
    own_key,
    gone,
    payload_too_large,
    uri_too_long,
    unsupported_media_type,
    idempotency_key_reused,
    rate_limit_exceeded,
    api_key_banned,
    internal_error,
    service_unavailable,
    outcome_unknown,
};

// The text of an error, usually a string literal. A literal is shared, so such
// an error can be created and copied where nothing may throw.
class Message {
public:
    Message() = default;
    // Implicit, for Error{code, "text"}.
    // NOLINTNEXTLINE(google-explicit-constructor)
    Message(const char* literal) noexcept : literal_(literal) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    Message(std::string text) noexcept : own_(std::move(text)) {}

    std::string_view text() const noexcept
    {
        return literal_ != nullptr ? std::string_view(literal_) : own_;
    }

private:
    const char* literal_ = nullptr;
    std::string own_;
};

// An error as a value. `message` is English text for humans. It may name our
// fields and parameters but never quotes bytes that the client sent.
struct Error {
    ErrorCode code;
    Message message;
};

// For a body over the limit. Throws std::bad_alloc.
Error payload_too_large(std::size_t limit);

int http_status(ErrorCode code) noexcept;
std::string_view code_name(ErrorCode code) noexcept;

// The body of every error response: {"code":…,"message":…,"status":…}.
std::string error_body(std::string_view code, std::string_view message,
                       int status);
std::string error_body(const Error& error);

// The error for a response that nginx generated itself (413 before a handler
// ran, 400 for a malformed request line, 502 from a proxied location, …).
// Defined for every status from 400 up, nginx's internal 494 to 497 included.
std::string error_body_for_status(int status);
std::string_view code_name_for_status(int status) noexcept;

// The status that the client gets: 400 for nginx's internal 494 to 497.
int client_status(int status) noexcept;

// Whether a response with this status carries Retry-After: 1.
bool is_retryable_status(int status) noexcept;

}  // namespace petstore::api
