#include "pump.h"

#include <algorithm>
#include <stdexcept>

#include "../terminal/interruption.h"

namespace petstore::ctl {

void Pump::remove(Member& member) noexcept
{
    members_.erase(std::find(members_.begin(), members_.end(), &member));
}

void Pump::flush() noexcept
{
    // By index: a handler may open another link.
    for (std::size_t i = 0; i < members_.size(); ++i) {
        members_[i]->write();
    }
}

void Pump::step()
{
    if (last_time_ == Time::max() && Interruption::requested()) {
        last_time_ = now() + kAfterSignal;
    }
    sockets_.clear();
    Time until = Time::max();
    bool waits = false;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        sockets_.push_back(members_[i]->waits_for(until));
        waits = waits || sockets_.back().fd >= 0;
    }
    if (!waits && until == Time::max()) {
        throw std::logic_error("nothing to wait for");
    }
    wait(sockets_, until);
    const Time time = now();
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        const bool ready = sockets_[i].revents != 0;
        if (ready || time >= until) {
            members_[i]->proceed(ready);
        }
    }
}

void Pump::wait(std::vector<pollfd>& sockets, Time until)
{
    Interruption::poll(sockets.data(), sockets.size(), until,
                       last_time_ != Time::max());
}

}  // namespace petstore::ctl
