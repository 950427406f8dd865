#include "create_pet.h"

#include <utility>

#include "../api/digest.h"
#include "../api/json.h"
#include "../api/text.h"
#include "request_body.h"

namespace petstore::service {

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
    if (auto error = check_body_headers(in, BodyType::json,
                                        request_.settings().max_body)) {
        return error;
    }
    std::optional<api::Digest> key;
    auto error = read_idempotency_key(in, key);
    if (key) {
        idempotency_.emplace();
        idempotency_->key = *key;
    }
    return error;
}

void CreatePet::on_body(Result result, const std::string& body) noexcept
{
    request_.enter([&] {
        if (const auto error =
                body_error(result, request_.settings().max_body)) {
            return request_.refuse(*error);
        }
        parse(body);
    });
}

void CreatePet::parse(const std::string& body)
{
    auto parsed = api::parse_new_pet(body);
    if (const auto* error = std::get_if<api::Error>(&parsed)) {
        return request_.refuse(*error);
    }
    pet_ = std::get<api::NewPet>(std::move(parsed));
    if (idempotency_) {
        idempotency_->body = api::sha256(body);
    }
    request_.confirm_key();
}

void CreatePet::on_key_confirmed()
{
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
