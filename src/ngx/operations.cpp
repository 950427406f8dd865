// What an exchange does once it is admitted: the three operations.
#include "../api/media_type.h"
#include "../api/text.h"
#include "exchange.h"
#include "module.h"
#include "str.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kMaxIdempotencyKey = 255;

api::Error not_found()
{
    return {api::ErrorCode::pet_not_found, "There is no pet with this id."};
}

api::Error too_large()
{
    return {api::ErrorCode::payload_too_large,
            "The request body is larger than this service accepts."};
}

}  // namespace

void Exchange::prepare_read()
{
    if (!key_->record.allows(route_.operation) || is_gone()) {
        return;
    }
    if (route_.operation == api::Operation::get_pet) {
        const auto id = api::parse_int64(route_.pet_id);
        if (id && *id > 0) {
            read_key_ = store::ReadKey::of_pet(*id);
        } else {
            read_error_ = not_found();
        }
    } else if (route_.operation == api::Operation::list_pets) {
        auto query = api::parse_list_query(view(request_->args));
        if (auto* error = std::get_if<api::Error>(&query)) {
            read_error_ = std::move(*error);
        } else {
            read_key_ =
                store::ReadKey::of_page(std::get<api::ListQuery>(query));
        }
    }
}

bool Exchange::is_gone() const noexcept
{
    return route_.operation == api::Operation::get_pet
           && conf_.get_sunset != kNeverGone && ngx_time() >= conf_.get_sunset;
}

void Exchange::read()
{
    if (!read_key_ && !read_error_) {  // decided on without asking the limiter
        prepare_read();
    }
    if (!read_error_ && version_
        && store::Reader::is_beyond(*read_key_, *version_)) {
        read_error_ = not_found();
    }
    if (read_error_) {
        return respond(*read_error_);
    }
    if (version_) {
        if (auto answer = store_.reader.find(*read_key_, *version_)) {
            return send_answer(std::move(answer));
        }
    }
    wait_for_redis();
    store_.reader.read(*read_key_, version_, *this);
}

void Exchange::on_read(const store::ReadResult& result) noexcept
{
    deliver([&] {
        if (const auto* error = std::get_if<api::Error>(&result)) {
            respond(*error);
        } else {
            send_answer(std::get<std::shared_ptr<const store::Answer>>(result));
        }
    });
}

void Exchange::send_answer(std::shared_ptr<const store::Answer> answer)
{
    if (answer->last != 0
        && !add_header_copy(request_, "Link",
                            api::next_link(conf_.link_base, read_key_->query(),
                                           answer->last))) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    discard_body();
    finish(send_response(request_, info_, NGX_HTTP_OK, std::move(answer)));
}

void Exchange::create()
{
    const auto& in = request_->headers_in;
    if (in.content_length_n > static_cast<off_t>(conf_.max_body)) {
        return respond(too_large());
    }

    bool repeated = false;
    if (in.content_type != nullptr
        && !api::is_json_media_type(view(in.content_type->value))) {
        return respond({api::ErrorCode::unsupported_media_type,
                        "The body must be application/json in UTF-8."});
    }
    const auto* encoding = find_header(request_, "Content-Encoding", repeated);
    if (encoding != nullptr
        && (repeated
            || !api::equals_ignoring_case(view(encoding->value), "identity"))) {
        return respond({api::ErrorCode::unsupported_media_type,
                        "The body must not have a Content-Encoding."});
    }

    auto creation = std::make_unique<Creation>();
    const auto* key = find_header(request_, "Idempotency-Key", repeated);
    if (key != nullptr) {
        const auto text = view(key->value);
        if (repeated || text.size() > kMaxIdempotencyKey
            || !api::is_visible_ascii(text)) {
            return respond({api::ErrorCode::invalid_parameter,
                            "The header Idempotency-Key must be one value of 1 "
                            "to 255 visible ASCII characters."});
        }
        creation->idempotency.emplace();
        creation->idempotency->key = api::sha256(text);
    }

    if (!suspend()) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    creation_ = std::move(creation);
    const auto result = creation_->body.start(
        request_, conf_.max_body, this,
        [](void* self, BodyReader::Result result) {
            auto& exchange = *static_cast<Exchange*>(self);
            exchange.enter([&] { exchange.on_body(result); });
        });
    if (result != BodyReader::Result::pending) {
        on_body(result);
    }
}

void Exchange::on_body(BodyReader::Result result)
{
    switch (result) {
    case BodyReader::Result::done:
        break;
    case BodyReader::Result::too_large:
        request_->keepalive = 0;
        return respond(too_large());
    case BodyReader::Result::timed_out:
        request_->keepalive = 0;
        return respond({api::ErrorCode::request_timeout,
                        "The request body did not arrive in time."});
    case BodyReader::Result::failed:
    case BodyReader::Result::pending:
        return finish(creation_->body.status());
    }

    const std::string& body = creation_->body.body();
    auto parsed = api::parse_new_pet(body);
    if (auto* error = std::get_if<api::Error>(&parsed)) {
        return respond(*error);
    }
    creation_->pet = std::get<api::NewPet>(std::move(parsed));
    if (creation_->idempotency) {
        creation_->idempotency->body = api::sha256(body);
    }
    // The script sees the last id only.
    if (version_ && version_->damage() != store::Version::Damage::none) {
        return respond(store_.reader.damaged(*version_));
    }
    request_->read_event_handler = ngx_http_test_reading;
    send_create(false);
}

void Exchange::send_create(bool eval)
{
    creation_->with_eval = eval;
    send(store_.catalogue.create(creation_->pet, key_->account->id,
                                 creation_->idempotency, eval),
         create_slot_);
}

void Exchange::on_created(const resp::Reply& reply)
{
    if (reply.is_error()) {
        if (reply.error_code() == "NOSCRIPT" && !creation_->with_eval) {
            return send_create(true);
        }
        log_damage(reply);
        return respond(store::failure_of(reply, true));
    }

    using Result = store::Catalogue::Created::Result;
    const auto created = store::Catalogue::parse_created(reply);
    if (created.result == Result::invalid) {
        return respond({api::ErrorCode::outcome_unknown,
                        "The store gave an answer that could not be read: the "
                        "pet may or may not exist."});
    }
    if (created.result == Result::key_reused) {
        return respond({api::ErrorCode::idempotency_key_reused,
                        "This Idempotency-Key was used with another body."});
    }

    std::string location = conf_.link_base + "/pets/";
    api::append_int(location, created.id);
    std::string category;
    api::append_int(category, creation_->pet.category_id);
    std::string body;
    api::append_pet_json(body, {created.id, creation_->pet.name, category,
                                creation_->pet.status});
    if (!add_header_copy(request_, "Location", location)
        || (created.result == Result::replayed
            && !add_header(request_, "Idempotent-Replayed", "true"))) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    respond(NGX_HTTP_CREATED, body);
}

}  // namespace petstore::ngx
