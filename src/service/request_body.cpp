#include "request_body.h"

#include "../api/media_type.h"
#include "../api/text.h"

namespace petstore::service {

namespace {

constexpr std::size_t kMaxIdempotencyKey = 255;

bool is_type(std::string_view content_type, BodyType type) noexcept
{
    return api::is_json_media_type(content_type)
           || (type == BodyType::merge_patch
               && api::is_merge_patch_media_type(content_type));
}

}  // namespace

std::optional<api::Error> check_body_headers(const Request& request,
                                             BodyType type, std::size_t limit)
{
    if (request.content_length() > static_cast<std::int64_t>(limit)) {
        return api::payload_too_large(limit);
    }
    const auto content_type = request.header("Content-Type");
    if (content_type
        && (content_type->repeated || !is_type(content_type->value, type))) {
        return api::Error{
            api::ErrorCode::unsupported_media_type,
            type == BodyType::merge_patch
                ? "The body must be application/merge-patch+json or application/json, in UTF-8."
                : "The body must be application/json in UTF-8."};
    }
    const auto encoding = request.header("Content-Encoding");
    // An empty list names no coding.
    if (encoding
        && (encoding->repeated
            || !(encoding->value.empty()
                 || api::equals_ignoring_case(encoding->value, "identity")))) {
        return api::Error{api::ErrorCode::unsupported_media_type,
                          "The body must not have a Content-Encoding."};
    }
    return std::nullopt;
}

std::optional<api::Error>
read_idempotency_key(const Request& request, std::optional<api::Digest>& digest)
{
    const auto key = request.header("Idempotency-Key");
    if (key) {
        if (key->repeated || key->value.size() > kMaxIdempotencyKey
            || !api::is_visible_ascii(key->value)) {
            return api::Error{
                api::ErrorCode::invalid_parameter,
                "The header Idempotency-Key must be one value of 1 to 255 visible ASCII characters."};
        }
        digest = api::sha256(key->value);
    }
    return std::nullopt;
}

std::optional<api::Error> body_error(BodyWaiter::Result result,
                                     std::size_t limit)
{
    switch (result) {
    case BodyWaiter::Result::complete:
        break;
    case BodyWaiter::Result::too_large:
        return api::payload_too_large(limit);
    case BodyWaiter::Result::timed_out:
        return api::Error{api::ErrorCode::request_timeout,
                          "The request body did not arrive in time."};
    }
    return std::nullopt;
}

}  // namespace petstore::service
