// The first step of every request that needs a key.
#include "authentication.h"

#include <utility>

#include "../store/failure.h"
#include "refusal.h"

namespace petstore::service {

void Authentication::run()
{
    const SentKey& sent =
        read_key(task_.request(), task_.settings(), task_.state());
    proceed(find_key(sent, task_.storage(), digest_));
}

// From memory, or else from Redis.
void Authentication::proceed(FoundKey found)
{
    if (found.valid != nullptr) {
        key_ = std::move(found.valid);
        return check();
    }
    if (found.refused) {
        return refuse_key(task_, *found.refused);
    }
    read();
}

void Authentication::read()
{
    if (task_.may_wait()) {
        asked_ = task_.now();
        // Ahead of the record, so that it need not be waited for.
        task_.storage().plans.current();
        const std::string_view account =
            key_ != nullptr ? key_->account->id() : std::string_view();
        task_.storage().key_loader.load(digest_, {epoch_, account, task_.now()},
                                        key_read_.begin());
    }
}

void Authentication::take_key(const store::Ref<store::CachedKey>& key)
{
    if (key == nullptr && key_ != nullptr) {
        // Nothing has replaced the record.
        task_.storage().keys.erase(digest_, *key_);
    }
    key_ = key;
    read_ = true;
    if (key_ == nullptr) {
        refuse(asked_);
    } else {
        check(Record::fresh);
    }
}

void Authentication::check(Record record)
{
    store::Storage& storage = task_.storage();
    const store::Expiry expiry = storage.redis_clock.expiry(*key_);
    if (key_->record.disabled || expiry == store::Expiry::expired) {
        if (read_) {
            return refuse(key_->asked);
        }
        // No limiter call has compared the record's epoch: the key may have got
        // another end since it was read.
        storage.keys.erase(digest_, *key_);
        asked_clock_ = false;
        return run();
    }
    if (expiry == store::Expiry::unconfirmed && !asked_clock_) {
        if (task_.may_wait()) {
            asked_clock_ = true;
            storage.redis_clock.ask(*key_, clock_read_.begin());
        }
        return;
    }
    if (task_.is_reported()) {
        task_.state().key = {key_, {}};
    }
    owner_.on_key(record);
}

void Authentication::renew(std::int64_t epoch)
{
    if (!renewing_since_) {
        renewing_since_ = task_.now();
    }
    ++renewals_;
    if (renewals_ > kUsualRenewals
        && task_.now() - *renewing_since_ >= task_.settings().redis_timeout) {
        task_.storage().log.report(store::Event::changed_too_often);
        return task_.refuse(store::not_counted().error);
    }
    epoch_ = epoch;
    proceed(find_newer_key(digest_, key_, epoch_, task_.storage()));
}

// Other requests may use the cached record meanwhile: they ask the limiter,
// which knows the account's epoch.
void Authentication::read_again()
{
    asked_clock_ = false;
    epoch_ = key_->epoch;
    read();
}

void Authentication::refuse(store::Monotonic asked)
{
    refuse_key(task_, forget_key(digest_, key_.get(), asked, task_.storage()));
}

}  // namespace petstore::service
