#include "key_loader.h"

#include <utility>
#include <vector>

#include "../failure.h"

namespace petstore::store {

// A look-up in flight and the requests that wait for it.
class KeyLoader::Load final : public redis::InFlight<Load>::Item,
                              public redis::ReplyHandler {
public:
    Load(KeyLoader& owner, const api::Digest& digest, const Required& required)
        : owner_(owner), digest_(digest), epoch_(required.epoch),
          account_(required.account),
          generation_(owner.accounts_.connection_generation(account_))
    {}

    const api::Digest& digest() const noexcept { return digest_; }
    std::int64_t epoch() const noexcept { return epoch_; }
    const std::string& account() const noexcept { return account_; }
    std::uint64_t generation() const noexcept { return generation_; }
    void add(KeyWaiter& waiter) { waiters_.push_back(&waiter); }

    void on_reply(const redis::Reply& reply) noexcept override
    {
        try {
            end(owner_.take(*this, reply));
        } catch (...) {
            end({nullptr, read_not_sent().error});
        }
    }

    void on_no_reply(redis::NoReply loss) noexcept override
    {
        end({nullptr, failure_of(loss, false).error});
    }

private:
    // Unlinks itself first: waiters may start the next look-up of the same key.
    void end(const KeyResult& result) noexcept
    {
        const auto found = owner_.newest_.find(digest_);
        if (found != owner_.newest_.end() && found->second == this) {
            owner_.newest_.erase(found);
        }
        const auto self = owner_.loads_.take(*this);
        for (KeyWaiter* waiter : waiters_) {
            waiter->on_key(result);
        }
    }

    KeyLoader& owner_;
    const api::Digest digest_;
    const std::int64_t epoch_;
    const std::string account_;       // empty if unknown
    const std::uint64_t generation_;  // of the account's link before the load
    std::vector<KeyWaiter*> waiters_;
};

KeyLoader::KeyLoader(redis::Link& link, const redis::Link& accounts,
                     const KeyCommands& keys, const api::PlanTable& plans,
                     KeyCache& cache, KeyLog& log)
    : link_(link), accounts_(accounts), keys_(keys), plans_(plans),
      cache_(cache), log_(log)
{}

KeyLoader::~KeyLoader() = default;

void KeyLoader::load(const api::Digest& digest, const Required& required,
                     KeyWaiter& waiter) noexcept
{
    try {
        if (Load* load = find(digest, required.epoch)) {
            load->add(waiter);
        } else if (loads_.size() < kMaxLoads) {
            start(digest, required, waiter);
        } else {
            log_.look_up_refused();
            waiter.on_key({nullptr, read_not_sent().error});
        }
    } catch (...) {
        waiter.on_key({nullptr, read_not_sent().error});
    }
}

// Finds a look-up in flight whose record will be new enough. One sent before
// the account's epoch was known may return an older record.
KeyLoader::Load* KeyLoader::find(const api::Digest& digest,
                                 std::int64_t epoch) noexcept
{
    const auto found = newest_.find(digest);
    return found != newest_.end() && found->second->epoch() >= epoch
               ? found->second
               : nullptr;
}

void KeyLoader::start(const api::Digest& digest, const Required& required,
                      KeyWaiter& waiter)
{
    const auto command = keys_.get(digest);
    Load& load = loads_.start(*this, digest, required);
    try {
        load.add(waiter);
        newest_[digest] = &load;
    } catch (...) {
        loads_.end(load);
        throw;
    }
    link_.send(command, load);
}

// The generation of the account's link before the record was read. If the
// account was unknown then, and any account's generation has changed since,
// this one's may have changed too. The record then gets an outdated generation,
// so that the limiter reports the current epoch and the record is read again.
std::uint32_t KeyLoader::generation_of(const std::string& account,
                                       const Load& load) const noexcept
{
    if (load.account() == account) {
        return static_cast<std::uint32_t>(load.generation());
    }
    const auto now =
        static_cast<std::uint32_t>(accounts_.connection_generation(account));
    return load.account().empty()
                   && load.generation() == accounts_.connection_generation({})
               ? now
               : now - 1;
}

KeyResult KeyLoader::take(const Load& load, const redis::Reply& reply)
{
    if (reply.is_error() && !redis::is_wrong_type(reply)) {
        return {nullptr, failure_of(reply, false).error};
    }
    using Result = KeyCommands::Found::Result;
    const auto found = KeyCommands::parse(reply);
    if (found.result == Result::invalid) {
        log_.damaged(keys_.name(load.digest()));
        return {nullptr, damage_error()};
    }
    if (found.result == Result::absent) {
        return {};
    }

    const api::KeyRecord& record = found.record;
    auto key = make_ref<CachedKey>();
    key->record = CachedRecord(record);
    key->limits = plans_.limits_of(record);
    if (!plans_.knows(record.plan)) {
        log_.unknown_plan(record);
    }
    // A record read after the account's epoch was known is at least that new.
    // Otherwise the epoch in the record counts.
    key->epoch = load.epoch() == 0 ? record.epoch : load.epoch();
    key->generation = generation_of(record.account, load);
    key->account = cache_.account(record.account);
    cache_.put(load.digest(), key);
    return {std::move(key), std::nullopt};
}

}  // namespace petstore::store
