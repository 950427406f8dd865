#include "version_queue.h"

#include "fetch.h"

namespace petstore::store {

class VersionQueue::Load final
    : public Fetch,
      public SharedReads<Load, Waiter<VersionInGeneration>*>::Item {
public:
    Load(SharedReads<Load, Waiter<VersionInGeneration>*>& loads, NoKey key,
         ReadCache& cache) noexcept
        : Fetch(cache.source().link), Item(loads, key), cache_(cache)
    {}

private:
    void send_commands() override { send(cache_.source().commands.version()); }

    void take(std::size_t, const redis::Reply& reply) override
    {
        if (reply.is_error()) {
            fail(failure_of(reply, Purpose::read));
        } else if (reply.size() != 2) {
            fail(unavailable());
        } else {
            version_ = cache_.note(Version::parse(reply[0], reply[1]));
        }
    }

    void on_done() noexcept override
    {
        Outcome<VersionInGeneration> outcome = version_;
        if (failure()) {
            outcome = *failure();  // its message is a literal
        }
        end(outcome);
    }

    ReadCache& cache_;
    VersionInGeneration version_;
};

VersionQueue::VersionQueue(redis::Scheduler& scheduler,
                           ReadCache& cache) noexcept
    : scheduler_(scheduler), cache_(cache)
{}

VersionQueue::~VersionQueue() = default;

void VersionQueue::read(Waiter<VersionInGeneration>& waiter) noexcept
{
    try {
        if (Load* const load = loads_.find()) {
            return load->join(&waiter);
        }
        Load& load = loads_.start({}, &waiter, cache_);
        if (!scheduled_) {
            scheduled_ = true;
            scheduler_.schedule(*this, redis::Scheduler::Stage::write);
        }
        load.begin();
    } catch (...) {
        waiter.on_result(unavailable());
    }
}

// The command is being written; later requests need another one.
void VersionQueue::run() noexcept
{
    scheduled_ = false;
    loads_.close();
}

}  // namespace petstore::store
