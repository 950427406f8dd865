#include "create_pet.h"

#include <utility>

#include "../api/digest.h"
#include "../api/json.h"
#include "../api/media_type.h"
#include "../api/text.h"

namespace petstore::service {

namespace {

constexpr std::size_t kMaxIdempotencyKey = 255;

}  // namespace

void CreatePet::on_admitted()
{
    if (const auto error = check_headers()) {
        return request_.refuse(*error);
    }
    request_.body().read(request_.settings().max_body, *this);
}

std::optional<api::Error> CreatePet::check_headers()
{
    const Request& in = request_.request();
    if (in.content_length()
        > static_cast<std::int64_t>(request_.settings().max_body)) {
        return api::payload_too_large(request_.settings().max_body);
    }
    const auto type = in.header(Header::content_type);
    if (type && (type->repeated || !api::is_json_media_type(type->value))) {
        return api::Error{api::ErrorCode::unsupported_media_type,
                          "The body must be application/json in UTF-8."};
    }
    const auto encoding = in.header(Header::content_encoding);
    if (encoding
        && (encoding->repeated
            || !api::equals_ignoring_case(encoding->value, "identity"))) {
        return api::Error{api::ErrorCode::unsupported_media_type,
                          "The body must not have a Content-Encoding."};
    }
    const auto key = in.header(Header::idempotency_key);
    if (key) {
        if (key->repeated || key->value.size() > kMaxIdempotencyKey
            || !api::is_visible_ascii(key->value)) {
            return api::Error{
                api::ErrorCode::invalid_parameter,
                "The header Idempotency-Key must be one value of 1 to 255 visible ASCII characters."};
        }
        idempotency_.emplace();
        idempotency_->key = api::sha256(key->value);
    }
    return std::nullopt;
}

void CreatePet::on_body(Result result, const std::string& body) noexcept
{
    request_.enter([&] {
        switch (result) {
        case Result::complete:
            return create(body);
        case Result::too_large:
            return request_.refuse(
                api::payload_too_large(request_.settings().max_body));
        case Result::timed_out:
            return request_.refuse(
                {api::ErrorCode::request_timeout,
                 "The request body did not arrive in time."});
        }
    });
}

void CreatePet::create(const std::string& body)
{
    auto parsed = api::parse_new_pet(body);
    if (const auto* error = std::get_if<api::Error>(&parsed)) {
        return request_.refuse(*error);
    }
    pet_ = std::get<api::NewPet>(std::move(parsed));
    if (idempotency_) {
        idempotency_->body = api::sha256(body);
    }
    request_.storage().creates.add(
        {pet_, request_.admission().key().account->id(), idempotency_,
         request_.durable_link(), request_.admission().version()},
        created_.begin());
}

void CreatePet::respond(const store::CreatedPet& created)
{
    std::string category;
    api::append_int(category, pet_.category_id);
    std::string body;
    api::append_pet_json(body, {created.id, pet_.name, category, pet_.status});
    Response response;
    response.status = 201;
    response.body = body;
    response.location = request_.settings().link_base + "/pets/";
    api::append_int(response.location, created.id);
    response.replayed = created.replayed;
    request_.respond(response);
}

}  // namespace petstore::service
