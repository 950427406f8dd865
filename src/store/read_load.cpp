#include "read_load.h"

#include <utility>

#include "failure.h"
#include "record.h"

namespace petstore::store {

namespace {

// Of no memory: as if Redis had not been asked.
api::Error not_read() noexcept
{
    return failure_of(Loss::not_sent, false);
}

}  // namespace

Reader::Load::Load(Reader& owner, const ReadKey& key)
    : owner_(owner), key_(key), memory_(owner.memory())
{}

bool Reader::Load::begin() noexcept
{
    sending_ = true;
    try {
        send_commands();
    } catch (...) {
        error_ = not_read();
    }
    sending_ = false;
    return !end_if_complete();
}

void Reader::Load::on_reply(const resp::Reply& reply) noexcept
{
    const std::size_t index = seen_++;
    sending_ = true;
    try {
        if (!error_) {
            take(index, reply);
        }
    } catch (...) {
        error_ = not_read();
    }
    sending_ = false;
    end_if_complete();
}

void Reader::Load::on_loss(Loss loss) noexcept
{
    ++seen_;
    if (!error_) {
        error_ = failure_of(loss, false);
    }
    end_if_complete();
}

void Reader::Load::send_commands()
{
    if (key_.is_pet()) {
        return send(owner_.catalogue_.get(key_.id));
    }
    const auto query = key_.query();
    page_.emplace(query);
    if (query.status) {
        return send(owner_.catalogue_.list_by_status(query, false));
    }
    for (const auto& command : owner_.catalogue_.list_all(query)) {
        send(command);
    }
}

void Reader::Load::send(const resp::Command& command)
{
    ++sent_;
    owner_.link_.send(command, *this);
}

void Reader::Load::take(std::size_t index, const resp::Reply& reply)
{
    if (reply.is_error()) {
        take_error(index, reply);
    } else if (page_) {
        // A script is one command, even when its text had to be sent too.
        if (!page_->add(key_.is_filtered() ? 0 : index, reply)) {
            error_ = damaged(page_->damaged_bucket());
        }
    } else if (reply.is(resp::Type::nil)) {
        absent_ = true;
    } else {
        record_ = reply.text();
    }
}

// Only a script can be unknown to Redis. Anything else that is answered with
// NOSCRIPT has failed.
void Reader::Load::take_error(std::size_t index, const resp::Reply& error)
{
    if (key_.is_filtered() && !eval_ && error.error_code() == "NOSCRIPT") {
        eval_ = true;
        return send(owner_.catalogue_.list_by_status(key_.query(), true));
    }
    const auto key = damaged_key(error);
    if (!key.empty()) {
        error_ = owner_.damaged(std::string(key));
    } else if (is_wrong_type(error)) {
        error_ = damaged(page_ ? page_->bucket(index) : bucket_of(key_.id));
    } else {
        error_ = failure_of(error, false);
    }
}

api::Error Reader::Load::damaged(std::int64_t bucket)
{
    return owner_.damaged(owner_.catalogue_.schema().bucket(bucket));
}

// The first pet that was there when the version was told, before the read, and
// that the read has not found; 0 for none.
api::PetId Reader::Load::missing() const noexcept
{
    if (!version_) {
        return 0;
    }
    if (page_) {
        return page_->missing(version_->last_id);
    }
    return absent_ && key_.id <= version_->last_id ? key_.id : 0;
}

// Every command that was sent comes back, so only then may the load go.
bool Reader::Load::end_if_complete() noexcept
{
    if (sending_ || seen_ < sent_) {
        return false;
    }
    end();
    return true;
}

void Reader::Load::end() noexcept
{
    ReadResult result = api::Error{};
    try {
        if (!error_) {
            result = finish();
        } else {
            result = *error_;
        }
    } catch (...) {
        result = not_read();
    }
    const auto found = owner_.loads_.find(key_);
    if (found != owner_.loads_.end() && found->second == this) {
        owner_.loads_.erase(found);
    }
    for (ReadWaiter* waiter : waiters_) {
        waiter->on_read(result);
    }
    delete this;
}

ReadResult Reader::Load::finish()
{
    const bool same_data = memory_ == owner_.memory();
    if (const api::PetId id = missing()) {
        // The version may be that of another server.
        return same_data ? damaged(bucket_of(id)) : not_read();
    }
    if (absent_) {
        return no_such_pet();
    }
    auto answer = std::make_shared<Answer>();
    api::PetId reach = 0;
    if (page_) {
        auto page = page_->finish();
        answer->body = std::move(page.body);
        answer->last = page.more ? page.last : 0;
        answer->grows = !page.more;
        reach = page.reach;
    } else {
        const auto pet = decode_record(key_.id, record_);
        if (!pet) {
            return damaged(bucket_of(key_.id));
        }
        api::append_pet_json(answer->body, *pet);
    }
    if (version_ && same_data) {
        answer->version = *version_;
        owner_.cache_.put(key_, answer);
        if (key_.is_filtered()) {
            owner_.note_walk(key_, reach, *version_);
        }
    }
    return std::shared_ptr<const Answer>(std::move(answer));
}

}  // namespace petstore::store
