#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "../../redis/alarm.h"
#include "../../store/clock.h"
#include "../../store/schema.h"
#include "../../store/store_links.h"
#include "../../store/waiter.h"

namespace petstore::service {

// Lets operations wait for a moment, for another request that works on the same
// thing.
class Pauses final : private redis::Alarm::User {
public:
    static constexpr std::uint64_t kMilliseconds = 50;

    explicit Pauses(redis::Alarm& alarm) noexcept : alarm_(alarm) {}

    // Resumes the coroutine that has this address, after a pause. Throws
    // std::bad_alloc.
    void add(void* coroutine);

private:
    void on_alarm() noexcept override;

    redis::Alarm& alarm_;
    std::vector<void*> waiting_;
};

class ListSlot;

// Limits how many operations that read many records run at once: each has up to
// 256 commands in the queue to Redis, which is that of customers' requests,
// too.
class ListSemaphore final : private redis::Alarm::User {
public:
    static constexpr std::size_t kMaxConcurrent = 8;
    static constexpr std::uint64_t kMaxWait = 5000;  // milliseconds

    // `alarm` is borrowed.
    explicit ListSemaphore(redis::Alarm& alarm) noexcept : alarm_(alarm) {}

private:
    friend class ListSlot;

    void on_alarm() noexcept override;

    redis::Alarm& alarm_;
    std::size_t in_use_ = 0;        // slots
    std::list<ListSlot*> waiting_;  // in order of arrival
};

// An operation's slot, which it may have to wait for. Released at the latest
// when it is destroyed.
class ListSlot {
public:
    // `semaphore` is borrowed.
    explicit ListSlot(ListSemaphore& semaphore) noexcept : semaphore_(semaphore)
    {}
    ~ListSlot();
    ListSlot(const ListSlot&) = delete;
    ListSlot& operator=(const ListSlot&) = delete;

    // Calls the waiter once the slot is acquired, possibly before this returns,
    // or with a failure if it is not.
    void acquire(store::Waiter<store::Done>& waiter) noexcept;

    // Ends the wait, if there is one, with a failure.
    void give_up() noexcept;

    // Does nothing without a slot. The alarm calls the next operation, never
    // this function.
    void release() noexcept;

private:
    friend class ListSemaphore;

    void take() noexcept;
    void leave_queue() noexcept;

    ListSemaphore& semaphore_;
    store::Waiter<store::Done>* waiter_ = nullptr;  // while it waits
    std::list<ListSlot*>::iterator position_;       // the same
    std::uint64_t give_up_at_ = 0;
    bool is_held_ = false;
};

// What the admin API works with: connections that may have rights of their own.
// Admission uses a Storage, as everywhere.
struct AdminStore {
    const store::Schema& schema;
    const store::StoreLinks links;
    const store::Clock& clock;
    Pauses pauses;
    ListSemaphore lists;
};

}  // namespace petstore::service
