#include "bucket_load.h"

#include <utility>

#include "failure.h"

namespace petstore::store {

Reader::BucketLoad::BucketLoad(Reader& owner, std::int64_t number,
                               const Version& version)
    : owner_(owner), number_(number), version_(version),
      serial_(++owner.begun_), memory_(owner.memory())
{}

bool Reader::BucketLoad::begin() noexcept
{
    sending_ = true;
    try {
        owner_.link_.send(owner_.catalogue_.bucket(number_), *this);
    } catch (...) {
        on_loss(Loss::not_sent);
    }
    sending_ = false;
    if (ended_) {
        end();
        return false;
    }
    return true;
}

bool Reader::BucketLoad::serves(const Version& now) const noexcept
{
    return version_.changes == now.changes;
}

void Reader::BucketLoad::add(const ReadKey& key, const Version& now,
                             ReadWaiter& waiter)
{
    waiters_.push_back({key, now, &waiter});
}

void Reader::BucketLoad::on_reply(const resp::Reply& reply) noexcept
{
    if (reply.is_error() && !is_wrong_type(reply)) {
        error_ = failure_of(reply, false);
    } else if (memory_ == owner_.memory()) {
        keep(reply);
    }
    end();
}

void Reader::BucketLoad::on_loss(Loss loss) noexcept
{
    error_ = failure_of(loss, false);
    ended_ = true;
    if (!sending_) {
        end();
    }
}

// A damaged bucket is not kept, nor one that lacks pets: its pets are read one
// by one, so that the damage is told where it is.
void Reader::BucketLoad::keep(const resp::Reply& reply) noexcept
{
    try {
        auto bucket = Bucket::parse(reply);
        if (bucket && bucket->size() >= rows_at(number_, version_)) {
            owner_.buckets_.put(number_, std::move(*bucket), version_.changes);
        }
    } catch (...) {
        // Out of memory: as good as not kept.
    }
}

void Reader::BucketLoad::end() noexcept
{
    const auto found = owner_.bucket_loads_.find(number_);
    if (found != owner_.bucket_loads_.end() && found->second == this) {
        owner_.bucket_loads_.erase(found);
    }
    for (const Waiting& waiting : waiters_) {
        answer(waiting);
    }
    delete this;
}

void Reader::BucketLoad::answer(const Waiting& waiting) noexcept
{
    ReadResult result = api::Error{};
    try {
        if (error_) {
            result = *error_;
        } else if (memory_ != owner_.memory()) {
            // `now` is a version of data that may be gone.
            return owner_.read_alone(waiting.key, {}, *waiting.waiter);
        } else {
            auto answer = owner_.build(waiting.key, waiting.now, false);
            if (answer == nullptr) {
                return owner_.read_alone(waiting.key, waiting.now,
                                         *waiting.waiter);
            }
            result = std::move(answer);
        }
    } catch (...) {
        result = failure_of(Loss::not_sent, false);
    }
    waiting.waiter->on_read(result);
}

}  // namespace petstore::store
