#include "admin_store.h"

#include <coroutine>
#include <utility>

#include "../../store/failure.h"

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

void ListSemaphore::on_alarm() noexcept
{
    while (in_use_ < kMaxConcurrent && !waiting_.empty()) {
        waiting_.front()->take();
    }
    const std::uint64_t now = alarm_.now();
    while (!waiting_.empty()
           && static_cast<std::int64_t>(waiting_.front()->give_up_at_ - now)
                  <= 0) {
        waiting_.front()->give_up();
    }
    if (!waiting_.empty()) {
        alarm_.set(*this, waiting_.front()->give_up_at_);
    }
}

ListSlot::~ListSlot()
{
    if (waiter_ != nullptr) {
        leave_queue();
    }
    release();
}

void ListSlot::acquire(store::Waiter<store::Done>& waiter) noexcept
{
    try {
        position_ = semaphore_.waiting_.insert(semaphore_.waiting_.end(), this);
    } catch (...) {
        return waiter.on_result(store::unavailable());
    }
    waiter_ = &waiter;
    give_up_at_ = semaphore_.alarm_.now() + ListSemaphore::kMaxWait;
    if (semaphore_.waiting_.size() > 1) {
        return;
    }
    if (semaphore_.in_use_ < ListSemaphore::kMaxConcurrent) {
        take();
    } else {
        semaphore_.alarm_.set(semaphore_, give_up_at_);
    }
}

void ListSlot::take() noexcept
{
    store::Waiter<store::Done>& waiter = *waiter_;
    leave_queue();
    is_held_ = true;
    ++semaphore_.in_use_;
    waiter.on_result(store::Done());
}

void ListSlot::give_up() noexcept
{
    if (waiter_ != nullptr) {
        store::Waiter<store::Done>& waiter = *waiter_;
        leave_queue();
        waiter.on_result(store::unavailable());
    }
}

void ListSlot::release() noexcept
{
    if (!std::exchange(is_held_, false)) {
        return;
    }
    --semaphore_.in_use_;
    if (!semaphore_.waiting_.empty()) {
        semaphore_.alarm_.set(semaphore_, semaphore_.alarm_.now());
    }
}

void ListSlot::leave_queue() noexcept
{
    waiter_ = nullptr;
    semaphore_.waiting_.erase(position_);
    if (semaphore_.waiting_.empty()) {
        semaphore_.alarm_.stop();  // it would delay the exit of a worker
    }
}

}  // namespace petstore::service
