#include "loads.h"

#include <algorithm>
#include <utility>

#include "../../redis/error_table.h"
#include "../failure.h"
#include "page_builder.h"
#include "record.h"

namespace petstore::store {

namespace {

// Keeps requests from joining `load`, unless a newer one has replaced it.
template <typename Map, typename Key, typename Load>
void forget(Map& newest, const Key& key, const Load& load) noexcept
{
    const auto found = newest.find(key);
    if (found != newest.end() && found->second == &load) {
        newest.erase(found);
    }
}

}  // namespace

// --- one pet or page ---------------------------------------------------------

Reader::Load::Load(Reader& owner, const ReadKey& key)
    : Fetch(owner.link_), owner_(owner), key_(key),
      generation_(owner.generation()), connection_(owner.connection_generation_)
{}

Reader::Load::Load(Reader& owner, const ReadKey& key, const Version& version,
                   ReadWaiter& waiter)
    : Fetch(owner.link_), owner_(owner), key_(key),
      generation_(owner.generation()),
      connection_(owner.connection_generation_),
      version_(version), waiters_{&waiter}
{}

void Reader::Load::send_commands()
{
    owner_.newest_loads_[key_] = this;
    if (key_.is_pet()) {
        return send(owner_.commands_.get(key_.id));
    }
    const auto query = key_.query();
    page_.emplace(query);
    if (query.status) {
        return call(owner_.commands_.list_by_status(
            query, version_ ? version_->last_id : owner_.latest_.last_id));
    }
    for (const auto& command : owner_.commands_.list_all(query)) {
        send(command);
    }
}

void Reader::Load::take(std::size_t index, const redis::Reply& reply)
{
    if (reply.is_error()) {
        take_error(index, reply);
    } else if (page_) {
        take_page(index, reply);
    } else if (reply.is(redis::Type::nil)) {
        absent_ = true;
    } else {
        record_ = reply.text();
    }
}

// The calls for a filtered page read the catalogue at different times, all
// later than version_, as do the two commands for an unfiltered page. But the
// rows must not come from two servers, because one may lack pets that the other
// has. Without a version, no request waits for the page.
void Reader::Load::take_page(std::size_t index, const redis::Reply& reply)
{
    owner_.drop_if_disconnected();
    if (key_.is_filtered() && index > 0
        && connection_ != owner_.connection_generation_) {
        return fail(read_not_sent().error);
    }
    if (!page_->add(index, reply)) {
        return fail(damaged(page_->damaged_bucket()));
    }
    if (!version_) {
        return;
    }
    if (const auto rest = page_->rest(version_->last_id)) {
        call(owner_.commands_.list_by_status(*rest, version_->last_id));
    }
}

void Reader::Load::take_error(std::size_t index, const redis::Reply& error)
{
    const auto key = damaged_key(error);
    if (!key.empty()) {
        fail(owner_.damaged(std::string(key)));
    } else if (redis::is_wrong_type(error)) {
        fail(damaged(page_ ? page_->bucket(index) : bucket_of(key_.id)));
    } else {
        fail(failure_of(error, false).error);
    }
}

api::Error Reader::Load::damaged(std::int64_t bucket)
{
    return owner_.damaged(owner_.commands_.schema().bucket(bucket));
}

// The first pet that existed at version_ and was not found; 0 for none.
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

void Reader::Load::end() noexcept
{
    ReadResult result = read_not_sent().error;
    try {
        if (error()) {
            result = *error();
        } else {
            result = finish();
        }
    } catch (...) {
        result = read_not_sent().error;
    }
    forget(owner_.newest_loads_, key_, *this);
    const auto self = owner_.loads_.take(*this);
    for (ReadWaiter* waiter : waiters_) {
        waiter->on_read(result);
    }
}

ReadResult Reader::Load::finish()
{
    const bool may_keep = generation_ == owner_.generation();
    if (const api::PetId id = missing()) {
        // If the data were dropped, the version may be another server's.
        return may_keep ? damaged(bucket_of(id)) : read_not_sent().error;
    }
    if (absent_) {
        return no_such_pet();
    }
    auto response = std::make_shared<CachedResponse>();
    if (page_) {
        auto page = page_->finish();
        response->body = std::move(page.body);
        response->next_after = page.more ? page.last : 0;
        response->is_last_page = !page.more;
        if (version_) {
            const api::PetId end = page.more ? page.next : version_->last_id;
            response->buckets = {bucket_of(std::min(key_.id, end) + 1),
                                 bucket_of(end)};
        }
    } else {
        const auto pet = decode_record(key_.id, record_);
        if (!pet) {
            return damaged(bucket_of(key_.id));
        }
        api::append_pet_json(response->body, *pet);
        response->buckets = {bucket_of(key_.id), bucket_of(key_.id)};
    }
    if (version_ && may_keep) {
        response->version = *version_;
        owner_.responses_.put(key_, response);
        if (key_.is_filtered()) {
            owner_.load_buckets_of_page(response->buckets, *version_);
        }
    }
    return std::shared_ptr<const CachedResponse>(std::move(response));
}

// --- a whole bucket ----------------------------------------------------------

Reader::BucketLoad::BucketLoad(Reader& owner, std::int64_t number,
                               const Version& version)
    : Fetch(owner.link_), owner_(owner), number_(number), version_(version),
      serial_(++owner.bucket_loads_started_), generation_(owner.generation())
{}

bool Reader::BucketLoad::serves(const Version& now) const noexcept
{
    return owner_.changed_.unchanged({number_, number_}, version_.changes,
                                     now.changes);
}

void Reader::BucketLoad::send_commands()
{
    owner_.newest_bucket_loads_[number_] = this;
    send(owner_.commands_.bucket(number_));
}

void Reader::BucketLoad::take(std::size_t, const redis::Reply& reply)
{
    if (reply.is_error() && !redis::is_wrong_type(reply)) {
        fail(failure_of(reply, false).error);
    } else if (generation_ == owner_.generation()) {
        keep(reply);
    }
}

// A bucket that is damaged or lacks pets is not kept. Its waiters read their
// pets one by one, which fails those that are affected and logs the damage.
void Reader::BucketLoad::keep(const redis::Reply& reply) noexcept
{
    try {
        auto bucket = Bucket::parse(reply);
        if (bucket && bucket->size() >= rows_at(number_, version_)) {
            owner_.buckets_.put(number_, std::move(*bucket), version_.changes);
        }
    } catch (...) {
        // Out of memory: not kept.
    }
}

void Reader::BucketLoad::end() noexcept
{
    forget(owner_.newest_bucket_loads_, number_, *this);
    const auto self = owner_.bucket_loads_.take(*this);
    for (const WaitingRead& waiting : waiters_) {
        respond(waiting);
    }
}

void Reader::BucketLoad::respond(const WaitingRead& waiting) noexcept
{
    ReadResult result = read_not_sent().error;
    try {
        if (error()) {
            result = *error();
        } else if (generation_ != owner_.generation()) {
            // waiting.now belongs to data that were dropped.
            return owner_.read_version(waiting.key, *waiting.waiter);
        } else {
            auto response = owner_.build(waiting.key, waiting.now, false);
            if (response == nullptr) {
                return owner_.read_directly(waiting.key, waiting.now,
                                            *waiting.waiter);
            }
            result = std::move(response);
        }
    } catch (...) {
        result = read_not_sent().error;
    }
    waiting.waiter->on_read(result);
}

// --- the version -------------------------------------------------------------

void Reader::VersionLoad::send_commands()
{
    send(owner_.commands_.version());
}

void Reader::VersionLoad::take(std::size_t, const redis::Reply& reply)
{
    if (reply.is_error()) {
        fail(failure_of(reply, false).error);
    } else if (reply.size() != 2) {
        fail(failure_of(redis::NoReply::in_doubt, false).error);
    } else {
        version_ = Version::parse(reply[0], reply[1]);
    }
}

void Reader::VersionLoad::end() noexcept
{
    const auto self = owner_.version_loads_.take(*this);
    if (error()) {
        waiter_.on_read(*error());
    } else {
        owner_.serve(key_, version_, waiter_);
    }
}

// --- the change log ----------------------------------------------------------

void Reader::LogLoad::send_commands()
{
    send(owner_.commands_.change_log(owner_.changed_.entries_until(changes_)));
}

void Reader::LogLoad::take(std::size_t, const redis::Reply& reply)
{
    // Without the log, anything may have changed. An error does not fail the
    // read, because it may concern the log alone.
    if (generation_ == owner_.generation()) {
        owner_.changed_.add(reply, changes_);
    }
}

void Reader::LogLoad::end() noexcept
{
    if (owner_.newest_log_load_ == this) {
        owner_.newest_log_load_ = nullptr;
    }
    const auto self = owner_.log_loads_.take(*this);
    for (const WaitingRead& waiting : waiters_) {
        respond(waiting);
    }
}

void Reader::LogLoad::respond(const WaitingRead& waiting) noexcept
{
    const auto& [key, now, waiter] = waiting;
    try {
        if (error()) {
            return waiter->on_read(*error());
        }
        if (generation_ != owner_.generation()) {
            // `now` belongs to data that were dropped.
            return owner_.read_version(key, *waiter);
        }
        if (now.changes <= owner_.changed_.known()) {
            if (auto response = owner_.lookup(key, now)) {
                return waiter->on_read(std::move(response));
            }
        }
    } catch (...) {
        return waiter->on_read(read_not_sent().error);
    }
    owner_.read(key, now, *waiter);
}

// --- an empty catalogue ------------------------------------------------------

void Reader::VacancyCheck::send_commands()
{
    send(owner_.commands_.get(1));
    send(owner_.commands_.last_id());
}

void Reader::VacancyCheck::take(std::size_t index, const redis::Reply& reply)
{
    index == 0 ? take_first_pet(reply) : take_last_id(reply);
}

void Reader::VacancyCheck::take_first_pet(const redis::Reply& reply)
{
    if (redis::is_wrong_type(reply)) {
        fail(owner_.damaged(owner_.commands_.schema().bucket(0)));
    } else if (reply.is_error()) {
        fail(failure_of(reply, false).error);
    } else {
        has_pets_ = !reply.is(redis::Type::nil);
    }
}

void Reader::VacancyCheck::take_last_id(const redis::Reply& reply)
{
    const auto name = owner_.commands_.schema().last_pet_id();
    if (redis::is_wrong_type(reply)) {
        fail(owner_.damaged(name));
    } else if (reply.is_error()) {
        fail(failure_of(reply, false).error);
    } else {
        const auto last_id = Version::parse(reply, reply).last_id;
        if (last_id < 0 || (has_pets_ && last_id == 0)) {
            fail(owner_.damaged(name));
        }
    }
}

void Reader::VacancyCheck::end() noexcept
{
    owner_.newest_vacancy_check_ = nullptr;
    const auto self = owner_.vacancy_checks_.take(*this);
    for (const Waiting& waiting : waiters_) {
        ReadResult result = read_not_sent().error;
        try {
            result = result_for(waiting.key);
        } catch (...) {
            // Out of memory.
        }
        waiting.waiter->on_read(result);
    }
}

// The result for an empty catalogue, even if pets were created since.
ReadResult Reader::VacancyCheck::result_for(const ReadKey& key) const
{
    if (error()) {
        return *error();
    }
    if (key.is_pet()) {
        return no_such_pet();
    }
    return std::shared_ptr<const CachedResponse>(
        PageBuilder(key, {}, owner_.buckets_).response());
}

}  // namespace petstore::store
