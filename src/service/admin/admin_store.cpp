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

void ListLine::on_alarm() noexcept
{
    while (begun_ < kMost && !waiting_.empty()) {
        waiting_.front()->begin();
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

ListTurn::~ListTurn()
{
    if (waiter_ != nullptr) {
        leave_line();
    }
    end();
}

void ListTurn::wait(store::Waiter<store::Done>& waiter) noexcept
{
    try {
        place_ = line_.waiting_.insert(line_.waiting_.end(), this);
    } catch (...) {
        return waiter.on_result(store::unavailable());
    }
    waiter_ = &waiter;
    give_up_at_ = line_.alarm_.now() + ListLine::kPatience;
    if (line_.waiting_.size() > 1) {
        return;
    }
    if (line_.begun_ < ListLine::kMost) {
        begin();
    } else {
        line_.alarm_.set(line_, give_up_at_);
    }
}

void ListTurn::begin() noexcept
{
    store::Waiter<store::Done>& waiter = *waiter_;
    leave_line();
    has_begun_ = true;
    ++line_.begun_;
    waiter.on_result(store::Done());
}

void ListTurn::give_up() noexcept
{
    if (waiter_ != nullptr) {
        store::Waiter<store::Done>& waiter = *waiter_;
        leave_line();
        waiter.on_result(store::unavailable());
    }
}

void ListTurn::end() noexcept
{
    if (!std::exchange(has_begun_, false)) {
        return;
    }
    --line_.begun_;
    if (!line_.waiting_.empty()) {
        line_.alarm_.set(line_, line_.alarm_.now());
    }
}

void ListTurn::leave_line() noexcept
{
    waiter_ = nullptr;
    line_.waiting_.erase(place_);
    if (line_.waiting_.empty()) {
        line_.alarm_.stop();  // it would delay the exit of a worker
    }
}

}  // namespace petstore::service
