#include "key_loader.h"

#include <utility>
#include <vector>

#include "failure.h"

namespace petstore::store {

// One look-up on its way and the requests that wait for it. Owned by the
// loader's list until its reply came.
class KeyLoader::Load final : public ReplyHandler {
public:
    Load(KeyLoader& owner, const api::Digest& digest, std::int64_t epoch)
        : owner_(owner), digest_(digest), epoch_(epoch)
    {}

    void set_owner(Loads::iterator self) noexcept { self_ = self; }
    std::int64_t epoch() const noexcept { return epoch_; }
    void add(KeyWaiter& waiter) { waiters_.push_back(&waiter); }

    void on_reply(const resp::Reply& reply) noexcept override
    {
        try {
            end(owner_.take(digest_, epoch_, reply));
        } catch (...) {
            on_loss(Loss::not_sent);
        }
    }

    void on_loss(Loss loss) noexcept override
    {
        end({nullptr, failure_of(loss, false)});
    }

private:
    // Waiters may begin the next look-up of the same key.
    void end(const KeyResult& result) noexcept
    {
        const auto found = owner_.newest_.find(digest_);
        if (found != owner_.newest_.end() && found->second == this) {
            owner_.newest_.erase(found);
        }
        Loads ended;
        ended.splice(ended.end(), owner_.loads_, self_);
        for (KeyWaiter* waiter : waiters_) {
            waiter->on_key(result);
        }
    }

    KeyLoader& owner_;
    const api::Digest digest_;
    const std::int64_t epoch_;
    Loads::iterator self_;
    std::vector<KeyWaiter*> waiters_;
};

KeyLoader::KeyLoader(Link& link, const Keys& keys, const api::PlanTable& plans,
                     KeyCache& cache, KeyLog& log)
    : link_(link), keys_(keys), plans_(plans), cache_(cache), log_(log)
{}

KeyLoader::~KeyLoader() = default;

void KeyLoader::load(const api::Digest& digest, std::int64_t epoch,
                     KeyWaiter& waiter) noexcept
{
    try {
        if (Load* load = find(digest, epoch)) {
            load->add(waiter);
        } else if (loads_.size() < kMaxLoads) {
            start(digest, epoch, waiter);
        } else {
            log_.look_up_refused();
            waiter.on_key({nullptr, failure_of(Loss::not_sent, false)});
        }
    } catch (...) {
        waiter.on_key({nullptr, failure_of(Loss::not_sent, false)});
    }
}

// The look-up on its way that brings a record new enough. One that left before
// the account's epoch was told may bring an older record.
KeyLoader::Load* KeyLoader::find(const api::Digest& digest,
                                 std::int64_t epoch) noexcept
{
    const auto found = newest_.find(digest);
    return found != newest_.end() && found->second->epoch() >= epoch
               ? found->second
               : nullptr;
}

void KeyLoader::start(const api::Digest& digest, std::int64_t epoch,
                      KeyWaiter& waiter)
{
    const auto command = keys_.get(digest);
    Loads added;
    Load& load = added.emplace_back(*this, digest, epoch);
    load.set_owner(added.begin());
    load.add(waiter);
    newest_[digest] = &load;
    loads_.splice(loads_.end(), added);
    link_.send(command, load);
}

KeyResult KeyLoader::take(const api::Digest& digest, std::int64_t epoch,
                          const resp::Reply& reply)
{
    if (reply.is_error() && !is_wrong_type(reply)) {
        return {nullptr, failure_of(reply, false)};
    }
    using Result = Keys::Found::Result;
    const auto found = Keys::parse(reply);
    if (found.result == Result::invalid) {
        log_.damaged(keys_.name(digest));
        return {nullptr, damage_error()};
    }
    if (found.result == Result::absent) {
        return {};
    }

    const api::KeyRecord& record = found.record;
    auto key = std::make_shared<CachedKey>();
    key->record = CachedRecord(record);
    key->limits = plans_.limits_of(record);
    if (!plans_.knows(record.plan)) {
        log_.unknown_plan(record);
    }
    // A record read after the account told its epoch is at least that new; one
    // read first counts as new as the epoch written into it.
    key->epoch = epoch == 0 ? record.epoch : epoch;
    key->account = cache_.account(record.account);
    cache_.put(digest, key);
    return {std::move(key), std::nullopt};
}

}  // namespace petstore::store
