#include "admin_store.h"

#include <coroutine>
#include <utility>

namespace petstore::service {

void Pauses::add(void* coroutine)
{
    waiting_.push_back(coroutine);
    if (waiting_.size() == 1) {
        alarm_.set(*this, alarm_.now() + kMilliseconds);
    }
}

// One that comes later shares the pause of the first.
void Pauses::on_alarm() noexcept
{
    for (void* coroutine : std::exchange(waiting_, {})) {
        std::coroutine_handle<>::from_address(coroutine).resume();
    }
}

}  // namespace petstore::service
