// What an exchange does once it is admitted: the three operations.
#include <vector>

#include "../api/json.h"
#include "../api/media_type.h"
#include "../api/text.h"
#include "../store/record.h"
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

api::Error damaged_reply()
{
    return {api::ErrorCode::internal_error,
            "The store gave an answer that could not be read."};
}

}  // namespace

// Finds out what the request reads, before it is known whether it may: then
// the read can leave together with the limiter's command.
void Exchange::prepare_read()
{
    may_read_ahead_ = false;
    if (!key_->record.allows(route_.operation) || is_gone()) {
        return;
    }
    if (route_.operation == api::Operation::get_pet) {
        const auto id = api::parse_int64(route_.pet_id);
        if (!id || *id < 1) {
            read_error_ = not_found();
            return;
        }
        pet_id_ = *id;
        may_read_ahead_ = true;
    } else if (route_.operation == api::Operation::list_pets) {
        auto query = api::parse_list_query(view(request_->args));
        if (auto* error = std::get_if<api::Error>(&query)) {
            read_error_ = std::move(*error);
            return;
        }
        query_ = std::get<api::ListQuery>(query);
        may_read_ahead_ = true;
    }
}

bool Exchange::is_gone() const noexcept
{
    return route_.operation == api::Operation::get_pet
           && conf_.get_sunset != kNeverGone && ngx_time() >= conf_.get_sunset;
}

void Exchange::start_read()
{
    reading_ = true;
    if (read_error_) {
        return;
    }
    if (route_.operation == api::Operation::get_pet) {
        replies_wanted_ = 1;
        send(store_.catalogue.get(pet_id_), data_slot_);
        return;
    }

    page_.emplace(query_);
    if (query_.status) {
        replies_wanted_ = 1;
        send(store_.catalogue.list_by_status(query_, false), data_slot_);
        return;
    }
    const auto commands = store_.catalogue.list_all(query_);
    replies_wanted_ = commands.size();
    for (const auto& command : commands) {
        send(command, data_slot_);
        if (over()) {
            return;
        }
    }
}

void Exchange::on_data(const resp::Reply& reply)
{
    const std::size_t index = replies_seen_++;
    if (reply.is_error()) {
        if (reply.error_code() == "NOSCRIPT" && query_.status
            && !list_with_eval_) {
            list_with_eval_ = true;
            replies_seen_ = 0;
            send(store_.catalogue.list_by_status(query_, true), data_slot_);
            return;
        }
        read_error_ = store::failure_of(reply, false);
    } else if (!read_error_) {
        page_ ? on_page(index, reply) : on_pet(reply);
    }
    if (admitted_ && !over()) {
        finish_read();
    }
}

void Exchange::on_pet(const resp::Reply& reply)
{
    if (reply.is(resp::Type::nil)) {
        read_error_ = not_found();
        return;
    }
    record_ = reply.text();
    if (store::is_long_marker(record_)) {
        ++replies_wanted_;
        send(store_.catalogue.get_long(pet_id_), data_slot_);
    }
}

void Exchange::on_page(std::size_t index, const resp::Reply& reply)
{
    const std::size_t packed = replies_wanted_ - long_wanted_;
    const bool good =
        index < packed
            ? page_->add(index, reply)
            : page_->add_long(page_->long_ids()[index - packed], reply);
    if (!good) {
        read_error_ = damaged_reply();
        return;
    }
    if (index + 1 != packed) {
        return;
    }
    long_wanted_ = page_->long_ids().size();
    replies_wanted_ += long_wanted_;
    for (const api::PetId id : page_->long_ids()) {
        send(store_.catalogue.get_long(id), data_slot_);
        if (over()) {
            return;
        }
    }
}

void Exchange::finish_read()
{
    if (read_error_) {
        return respond(*read_error_);
    }
    if (replies_seen_ < replies_wanted_) {
        return;
    }
    if (page_) {
        return send_page();
    }

    const auto pet = store::decode_record(pet_id_, record_);
    if (!pet) {
        return respond(damaged_reply());
    }
    std::string body;
    api::append_pet_json(body, *pet);
    respond(NGX_HTTP_OK, body);
}

void Exchange::send_page()
{
    const auto page = page_->finish();
    if (page.more
        && !add_header_copy(
            request_, "Link",
            api::next_link(conf_.link_base, query_, page.last))) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    respond(NGX_HTTP_OK, page.body);
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

    const auto* key = find_header(request_, "Idempotency-Key", repeated);
    if (key != nullptr) {
        const auto text = view(key->value);
        if (repeated || text.size() > kMaxIdempotencyKey
            || !api::is_visible_ascii(text)) {
            return respond({api::ErrorCode::invalid_parameter,
                            "The header Idempotency-Key must be one value of 1 "
                            "to 255 visible ASCII characters."});
        }
        idempotency_.emplace();
        idempotency_->key = api::sha256(text);
    }

    if (!suspend()) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    const auto result = body_.start(
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
        return finish(body_.status());
    }

    auto parsed = api::parse_new_pet(body_.body());
    if (auto* error = std::get_if<api::Error>(&parsed)) {
        return respond(*error);
    }
    new_pet_ = std::get<api::NewPet>(std::move(parsed));
    if (idempotency_) {
        idempotency_->body = api::sha256(body_.body());
    }
    request_->read_event_handler = ngx_http_test_reading;
    send_create(false);
}

void Exchange::send_create(bool eval)
{
    create_with_eval_ = eval;
    send(store_.catalogue.create(*new_pet_, key_->account->id, idempotency_,
                                 eval),
         create_slot_);
}

void Exchange::on_created(const resp::Reply& reply)
{
    if (reply.is_error()) {
        if (reply.error_code() == "NOSCRIPT" && !create_with_eval_) {
            return send_create(true);
        }
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
    api::append_int(category, new_pet_->category_id);
    std::string body;
    api::append_pet_json(
        body, {created.id, new_pet_->name, category, new_pet_->status});
    if (!add_header_copy(request_, "Location", location)
        || (created.result == Result::replayed
            && !add_header(request_, "Idempotent-Replayed", "true"))) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    respond(NGX_HTTP_CREATED, body);
}

}  // namespace petstore::ngx
