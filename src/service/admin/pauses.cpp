#include "pauses.h"

#include <utility>

namespace petstore::service {

void Pauses::add(store::Waiter<store::Done>& waiter)
{
    waiting_.push_back(&waiter);
    if (waiting_.size() == 1) {
        alarm_.set(*this, alarm_.now() + kMilliseconds);
    }
}

// One that comes later shares the pause of the first.
void Pauses::on_alarm() noexcept
{
    const store::Outcome<store::Done> done{store::Done()};
    for (auto* waiter : std::exchange(waiting_, {})) {
        waiter->on_result(done);
    }
}

}  // namespace petstore::service
