#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace petstore::api {

// Every error that the service itself decides on. The table in error.cpp is
// the only place that knows their HTTP status and their public name.
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
    pet_not_found,
    not_found,
    method_not_allowed,
    request_timeout,
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

// The text of an error: most often a literal, which is shared. Such an error
// can be made and copied where nothing may throw.
class Message {
public:
    Message() = default;
    Message(const char* literal) noexcept : literal_(literal) {}
    Message(std::string text) noexcept : own_(std::move(text)) {}

    std::string_view text() const noexcept
    {
        return literal_ != nullptr ? std::string_view(literal_) : own_;
    }

private:
    const char* literal_ = nullptr;
    std::string own_;
};

// An error as a value. `message` is English prose for people; it may quote a
// field or parameter name of ours but never bytes that the client sent.
struct Error {
    ErrorCode code;
    Message message;
};

int http_status(ErrorCode code) noexcept;
std::string_view code_name(ErrorCode code) noexcept;

// The body for every error: {"code":…,"message":…,"status":…}.
std::string error_body(std::string_view code, std::string_view message,
                       int status);
std::string error_body(const Error& error);

// The error for a response that nginx made by itself (413 before a handler
// ran, 400 for a broken request line, 502 of a proxied location …). Any
// status from 400 up has an answer; `status` is what the client gets to see,
// which for nginx's internal 494 to 497 is 400.
std::string error_body_for_status(int status);
std::string_view code_name_for_status(int status) noexcept;

// Whether such a response carries Retry-After: 1.
bool is_retryable_status(int status) noexcept;

}  // namespace petstore::api
