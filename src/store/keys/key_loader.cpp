#include "key_loader.h"

#include "../../redis/error_table.h"
#include "../failure.h"

namespace petstore::store {

// A look-up in flight.
class KeyLoader::Load final : public KeyLoader::Loads::Item,
                              public redis::ReplyHandler {
public:
    Load(Loads& loads, const api::Digest& digest, KeyLoader& owner,
         const Required& required)
        : Item(loads, digest), owner_(owner), epoch_(required.epoch),
          account_(required.account),
          generation_(owner.accounts_.connection_generation(account_))
    {}

    std::int64_t epoch() const noexcept { return epoch_; }
    const std::string& account() const noexcept { return account_; }
    std::uint64_t generation() const noexcept { return generation_; }

    void on_reply(const redis::Reply& reply) noexcept override
    {
        try {
            end(owner_.take(*this, reply));
        } catch (...) {
            fail(read_not_sent());
        }
    }

    void on_no_reply(redis::NoReply cause) noexcept override
    {
        fail(failure_of(cause, false));
    }

private:
    void fail(const Failure& failure) noexcept
    {
        end(Outcome<Ref<CachedKey>>(failure));
    }

    KeyLoader& owner_;
    const std::int64_t epoch_;
    const std::string account_;       // empty if unknown
    const std::uint64_t generation_;  // of the account's link before the load
};

KeyLoader::KeyLoader(redis::Link& link, const redis::Link& accounts,
                     const KeyCommands& keys, const api::PlanTable& plans,
                     KeyCache& cache, KeyLog& log)
    : link_(link), accounts_(accounts), keys_(keys), plans_(plans),
      cache_(cache), log_(log)
{}

KeyLoader::~KeyLoader() = default;

void KeyLoader::load(const api::Digest& digest, const Required& required,
                     Waiter<Ref<CachedKey>>& waiter) noexcept
{
    try {
        // A look-up sent before the account's epoch was known may return an
        // older record.
        Load* const load = loads_.find(digest);
        if (load != nullptr && load->epoch() >= required.epoch) {
            load->join(&waiter);
        } else if (loads_.size() < kMaxLoads) {
            start(digest, required, waiter);
        } else {
            log_.look_up_refused();
            waiter.on_result(read_not_sent());
        }
    } catch (...) {
        waiter.on_result(read_not_sent());
    }
}

void KeyLoader::start(const api::Digest& digest, const Required& required,
                      Waiter<Ref<CachedKey>>& waiter)
{
    const auto command = keys_.get(digest);
    link_.send(command, loads_.start(digest, &waiter, *this, required));
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

Outcome<Ref<CachedKey>> KeyLoader::take(const Load& load,
                                        const redis::Reply& reply)
{
    if (reply.is_error() && !redis::is_wrong_type(reply)) {
        return failure_of(reply, false);
    }
    using Result = KeyCommands::Found::Result;
    const auto found = KeyCommands::parse(reply);
    if (found.result == Result::invalid) {
        log_.damaged(keys_.name(load.key()));
        return Failure{damage_error()};
    }
    if (found.result == Result::absent) {
        return Ref<CachedKey>();
    }

    const api::KeyRecord& record = found.record;
    auto key = make_ref<CachedKey>();
    const api::PlanInForce plan = plans_.plan_in_force(record, {});
    key->record = CachedRecord(record, plan.plan);
    key->set_limits(plan);
    if (!plans_.knows(plan.plan)) {
        log_.unknown_plan(record.id, plan.plan);
    }
    // A record read after the account's epoch was known is at least that new.
    // Otherwise the epoch in the record counts.
    key->epoch = load.epoch() == 0 ? record.epoch : load.epoch();
    key->generation = generation_of(record.account, load);
    key->account = cache_.account(record.account);
    cache_.put(load.key(), key);
    return key;
}

}  // namespace petstore::store
