#include "limit_queue.h"

#include "../failure.h"
#include "limit_batch.h"

namespace petstore::store {

LimitQueue::LimitQueue(redis::Link& link, redis::Scheduler& scheduler,
                       const LimitCommands& limiter, DamageLog& damage_log,
                       EventLog& log) noexcept
    : link_(link), scheduler_(scheduler), limiter_(limiter),
      damage_log_(damage_log), log_(log)
{}

LimitQueue::~LimitQueue() = default;

void LimitQueue::add(const Ref<CachedKey>& key, std::int64_t cost, Known known,
                     const Asker& asker) noexcept
{
    LimitRequest request;
    request.account = key->account->id();
    request.epoch = epoch_of(*key);
    request.limits = key->limits;
    request.cost = cost;
    // If the key records are on another Redis, they survive when the accounts'
    // Redis loses its data. An account without a state may then always be a
    // lost one, never certainly a new one.
    request.fresh = known.fresh && limiter_.brings_version()
                    && !key->may_be_outdated(link_);
    request.placed = known.placed;
    request.needs_version = asker.needs_version;
    try {
        if (!join(request, key, asker)) {
            add_to_new_batch(request, key, asker);
        }
    } catch (...) {
        asker.waiter.on_result(unavailable());
    }
}

LimitQueue::Group LimitQueue::group_of(const CachedKey& key) const noexcept
{
    return across_slots_ ? link_.group_of(key.account->slot_key())
                         : reinterpret_cast<Group>(key.account.get());
}

// The script reads all accounts before it writes, so a command must not name an
// account twice: requests with another cost, other limits or another epoch, and
// those that have just read the record, go into another command, the newest
// epoch into the last. Returns false if none of the open batches can take the
// request.
bool LimitQueue::join(const LimitRequest& request, const Ref<CachedKey>& key,
                      const Asker& asker)
{
    if (open_.empty()) {
        return false;
    }
    const Account& account = *key->account;
    const std::uint64_t first = open_.front()->number();
    const std::size_t end =
        account.batch_ < first ? 0 : account.batch_ - first + 1;
    for (std::size_t i = end; i-- > 0;) {
        if (open_[i]->join(request, account, asker)) {
            return true;
        }
    }
    const Group group = group_of(*key);
    for (std::size_t i = end; i < open_.size(); ++i) {
        if (open_[i]->takes(group)) {
            open_[i]->add(request, key, asker);
            return true;
        }
    }
    return false;
}

void LimitQueue::add_to_new_batch(const LimitRequest& request,
                                  const Ref<CachedKey>& key, const Asker& asker)
{
    Batch& batch = batches_.start(*this, numbers_ + 1, group_of(*key));
    try {
        open_.push_back(&batch);
        try {
            batch.add(request, key, asker);
        } catch (...) {
            open_.pop_back();
            throw;
        }
    } catch (...) {
        batches_.end(batch);
        throw;
    }
    ++numbers_;
    scheduler_.schedule(batch, redis::Scheduler::Stage::batch);
}

// Stops adding to the batch. Batches are sent in the order in which they were
// opened.
void LimitQueue::close(Batch& batch) noexcept
{
    while (!open_.empty() && open_.front()->number() <= batch.number()) {
        open_.pop_front();
    }
}

}  // namespace petstore::store
