#include "response_load.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "../../redis/error_table.h"
#include "record.h"

namespace petstore::store {

api::Error no_such_pet() noexcept
{
    return {api::ErrorCode::pet_not_found, "There is no pet with this id."};
}

ResponseLoad::ResponseLoad(Loads& loads, const ReadKey& key, Position position,
                           const std::optional<Version>& version,
                           ReadCache& cache, BucketLoads& buckets,
                           Continuation& continuation)
    : CacheLoad(loads, key, cache, continuation), buckets_(buckets),
      position_(position), connection_(connection()), ahead_(!version),
      version_(version)
{}

std::uint64_t ResponseLoad::connection() const noexcept
{
    return source().link.connection_generation(source().schema().catalogue());
}

void ResponseLoad::send_commands()
{
    const PetCommands& commands = source().commands;
    if (key().is_pet()) {
        return send(commands.get(position_));
    }
    const auto [limit, status, after] = key().query();
    const PageQuery query{limit, status, position_};
    page_.emplace(query);
    if (query.status) {
        return call(commands.list_by_status(
            query, version_ ? version_->count : cache().latest().count));
    }
    for (const auto& command : commands.list_all(query)) {
        send(command);
    }
}

void ResponseLoad::take(std::size_t index, const redis::Reply& reply)
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
void ResponseLoad::take_page(std::size_t index, const redis::Reply& reply)
{
    if (key().is_filtered() && index > 0 && connection_ != connection()) {
        return fail(unavailable());
    }
    if (!page_->add(index, reply)) {
        return fail(source().damaged_bucket(page_->damaged_bucket()));
    }
    if (!version_) {
        return;
    }
    if (const auto rest = page_->rest(version_->count)) {
        call(source().commands.list_by_status(*rest, version_->count));
    }
}

void ResponseLoad::take_error(std::size_t index, const redis::Reply& error)
{
    if (const auto name = damaged_key(error); !name.empty()) {
        fail(source().damaged(name));
    } else if (redis::is_wrong_type(error)) {
        fail(source().damaged_bucket(page_ ? page_->bucket(index)
                                           : bucket_of(position_)));
    } else {
        fail(failure_of(error, Purpose::read));
    }
}

// The first pet that existed at version_ and was not found; 0 for none.
Position ResponseLoad::missing() const noexcept
{
    if (!version_) {
        return 0;
    }
    if (page_) {
        return page_->missing(version_->count);
    }
    return absent_ && position_ <= version_->count ? position_ : 0;
}

// The ids, if what was read can be used: it is as new as the version, and this
// is still the position to read. Commands that overtake each other make a
// difference only to data for which no version had arrived when they were
// asked for.
const PetIds* ResponseLoad::ids() const noexcept
{
    if (!version_ || history() != cache().history()
        || (ahead_ && !is_current())) {
        return nullptr;
    }
    const PetIds* const ids = cache().ids(*version_);
    return ids != nullptr
                   && locate(key(), *ids, *version_).position == position_
               ? ids
               : nullptr;
}

void ResponseLoad::on_done() noexcept
{
    const PetIds* const ids = this->ids();
    if (ids == nullptr || failure()) {
        return CacheLoad::on_done();
    }
    Outcome<SharedResponse> result = unavailable();
    try {
        result = finish(*ids);
    } catch (...) {
        // Out of memory.
    }
    end_each([&](const WaitingRead& read) { read.waiter->on_result(result); });
}

Outcome<SharedResponse> ResponseLoad::finish(const PetIds& ids)
{
    if (const Position position = missing()) {
        return source().damaged_bucket(bucket_of(position));
    }
    const auto response = std::make_shared<CachedResponse>();
    if (page_) {
        take_rows(*response, ids);
    } else if (!take_record(*response)) {
        return source().damaged_bucket(bucket_of(position_));
    }
    response->version = *version_;
    if (is_current()) {
        cache().put(key(), response);
        if (key().is_filtered()) {
            buckets_.load_for_later(response->buckets, *version_);
        }
    }
    return SharedResponse(response);
}

void ResponseLoad::take_rows(CachedResponse& response, const PetIds& ids)
{
    page_->drop_after(version_->count);
    auto page = page_->finish(ids);
    response.body = std::move(page.body);
    response.next_after = page.more ? page.last_id : 0;
    response.is_last_page = !page.more;
    const Position end = page.more ? page.next : version_->count;
    response.buckets = {bucket_of(std::min(position_, end) + 1),
                        bucket_of(end)};
}

// False if the record is damaged.
bool ResponseLoad::take_record(CachedResponse& response) const
{
    const auto pet = decode_record(key().id, record_);
    if (pet) {
        api::append_pet_json(response.body, *pet);
        response.buckets = {bucket_of(position_), bucket_of(position_)};
    }
    return pet.has_value();
}

}  // namespace petstore::store
