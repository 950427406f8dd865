#include "limits_marker.h"

#include <string_view>
#include <utility>
#include <vector>

namespace petstore::store {

namespace {

constexpr std::string_view kElsewhereReply = "elsewhere";

}  // namespace

class LimitsMarker::Load final : public redis::InFlight<Load>::Item,
                                 public redis::ReplyHandler {
public:
    explicit Load(LimitsMarker& owner) noexcept : owner_(owner) {}

    void add(MarkerWaiter& waiter) { waiters_.push_back(&waiter); }

    void on_reply(const redis::Reply& reply) noexcept override
    {
        using Marker = MarkerWaiter::Marker;
        const Marker marker =
            reply.text().substr(0, kElsewhereReply.size()) == kElsewhereReply
                ? Marker::elsewhere
                : Marker::here;
        end([&](MarkerWaiter& waiter) {
            reply.is_error() ? waiter.on_marker_error(reply)
                             : waiter.on_marker(marker);
        });
    }

    void on_no_reply(redis::NoReply cause) noexcept override
    {
        end([&](MarkerWaiter& waiter) { waiter.on_no_marker(cause); });
    }

private:
    template <typename Call>
    void end(Call&& call) noexcept
    {
        const auto self = owner_.loads_.take(*this);
        for (MarkerWaiter* waiter : waiters_) {
            call(*waiter);
        }
    }

    LimitsMarker& owner_;
    std::vector<MarkerWaiter*> waiters_;
};

LimitsMarker::LimitsMarker(redis::Link& link, redis::Scheduler& scheduler,
                           const Schema& schema) noexcept
    : link_(link), scheduler_(scheduler), schema_(schema)
{}

LimitsMarker::~LimitsMarker() = default;

void LimitsMarker::read(MarkerWaiter& waiter) noexcept
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
        scheduler_.schedule(*this, redis::Scheduler::Stage::batch);
    } catch (...) {
        waiter.on_no_marker(redis::NoReply::not_sent);
    }
}

// Later requests need another command.
void LimitsMarker::run() noexcept
{
    Load& load = *std::exchange(open_, nullptr);
    try {
        link_.send(redis::Command("GET").key(schema_.limits()), load);
    } catch (...) {
        load.on_no_reply(redis::NoReply::not_sent);
    }
}

}  // namespace petstore::store
