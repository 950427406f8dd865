#pragma once

#include <cstdint>
#include <vector>

#include "../../redis/script_call.h"
#include "limit_queue.h"

namespace petstore::store {

// One command of the limiter and the requests that it decides.
class LimitQueue::Batch final : public redis::InFlight<Batch>::Item,
                                public redis::EndOfIterationTask,
                                private redis::ScriptCall {
public:
    Batch(LimitQueue& queue, std::uint64_t number, Group group);

    std::uint64_t number() const noexcept { return number_; }

    // Whether another account of the group may be added.
    bool takes(Group group) const noexcept;

    // Counts the request with equal ones of its account. Returns false, without
    // effect, if there are none.
    bool join(const LimitRequest& request, const Account& account,
              const Asker& asker);

    // Requires takes(), and an account that is not in the batch. `request` is
    // one request.
    void add(const LimitRequest& request, const Ref<CachedKey>& key,
             const Asker& asker);

    void run() noexcept override;

private:
    class Busy;

    struct Waiting {
        Asker asker;
        std::size_t account;  // index in the batch
        std::int64_t index;   // among the requests of its account
    };

    std::size_t find(const Account& account) const noexcept;

    void send() noexcept;
    bool reports(const redis::Reply& error) const noexcept override;
    void on_result(const redis::Reply& reply) noexcept override;
    void on_no_result(redis::NoReply cause) noexcept override;
    void take_results() noexcept;
    Outcome<LimitAnswer> answer(const Waiting& waiting) noexcept;
    void fail(const Failure& failure) noexcept;

    bool asks_several() const noexcept { return keys_.size() > 1; }
    bool asks_again(std::size_t account) const noexcept;
    void ask_alone(std::size_t account) noexcept;
    Batch& start_alone(std::size_t account) const;

    LimitQueue& queue_;
    const std::uint64_t number_;
    const Group group_;
    std::vector<Ref<CachedKey>> keys_;
    std::vector<LimitRequest> requests_;  // one per key, in the same order
    std::vector<Waiting> waiters_;
    std::vector<LimitResult> results_;
    bool done_ = false;  // every waiter was called, or is being called
    int busy_ = 0;
};

}  // namespace petstore::store
