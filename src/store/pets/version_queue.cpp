#include "version_queue.h"

#include <vector>

#include "../failure.h"
#include "fetch.h"

namespace petstore::store {

class VersionQueue::Load final : public Fetch,
                                 public redis::InFlight<Load>::Item {
public:
    explicit Load(VersionQueue& owner) noexcept
        : Fetch(owner.link_), owner_(owner)
    {}

    void add(VersionWaiter& waiter) { waiters_.push_back(&waiter); }

private:
    void send_commands() override { send(owner_.commands_.version()); }

    void take(std::size_t, const redis::Reply& reply) override
    {
        if (reply.is_error()) {
            fail(failure_of(reply, false).error);
        } else if (reply.size() != 2) {
            fail(failure_of(redis::NoReply::in_doubt, false).error);
        } else {
            result_ = owner_.reader_.note(Version::parse(reply[0], reply[1]));
        }
    }

    void end() noexcept override
    {
        if (owner_.open_ == this) {
            owner_.open_ = nullptr;
        }
        const auto self = owner_.loads_.take(*this);
        if (error()) {
            result_ = *error();  // its message is a literal
        }
        for (VersionWaiter* waiter : waiters_) {
            waiter->on_version(result_);
        }
    }

    VersionQueue& owner_;
    VersionResult result_;
    std::vector<VersionWaiter*> waiters_;
};

VersionQueue::VersionQueue(redis::Link& link, redis::Scheduler& scheduler,
                           const PetCommands& commands, Reader& reader) noexcept
    : link_(link), scheduler_(scheduler), commands_(commands), reader_(reader)
{}

VersionQueue::~VersionQueue() = default;

void VersionQueue::read(VersionWaiter& waiter) noexcept
{
    try {
        if (open_ != nullptr) {
            return open_->add(waiter);
        }
        Load& load = loads_.start(*this);
        try {
            load.add(waiter);
        } catch (...) {
            loads_.end(load);
            throw;
        }
        open_ = &load;
        if (!scheduled_) {
            scheduled_ = true;
            scheduler_.schedule(*this, redis::Scheduler::Stage::write);
        }
        load.begin();
    } catch (...) {
        waiter.on_version(read_not_sent().error);
    }
}

// The command is being written; later requests need another one.
void VersionQueue::run() noexcept
{
    scheduled_ = false;
    open_ = nullptr;
}

}  // namespace petstore::store
