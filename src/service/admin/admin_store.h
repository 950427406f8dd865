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

class ListTurn;

// The line of operations that read many records, which take turns: each has up
// to 256 commands in the queue to Redis, which is that of customers' requests,
// too.
class ListLine final : private redis::Alarm::User {
public:
    static constexpr std::size_t kMost = 8;  // at a time
    // How long one waits, in milliseconds.
    static constexpr std::uint64_t kPatience = 5000;

    // `alarm` is borrowed.
    explicit ListLine(redis::Alarm& alarm) noexcept : alarm_(alarm) {}

private:
    friend class ListTurn;

    void on_alarm() noexcept override;

    redis::Alarm& alarm_;
    std::size_t begun_ = 0;         // turns
    std::list<ListTurn*> waiting_;  // the first came first
};

// An operation's place in the line, and then its turn. Leaves at the latest
// when it is destroyed.
class ListTurn {
public:
    // `line` is borrowed.
    explicit ListTurn(ListLine& line) noexcept : line_(line) {}
    ~ListTurn();
    ListTurn(const ListTurn&) = delete;
    ListTurn& operator=(const ListTurn&) = delete;

    // Calls the waiter when the turn has come, possibly before this returns, or
    // with a failure if it does not.
    void wait(store::Waiter<store::Done>& waiter) noexcept;

    // Ends the wait, if there is one, with a failure.
    void give_up() noexcept;

    // Ends the turn, if it has come. The next one is called by the alarm, never
    // within this.
    void end() noexcept;

private:
    friend class ListLine;

    void begin() noexcept;
    void leave_line() noexcept;

    ListLine& line_;
    store::Waiter<store::Done>* waiter_ = nullptr;  // while it waits
    std::list<ListTurn*>::iterator place_;          // the same
    std::uint64_t give_up_at_ = 0;
    bool has_begun_ = false;
};

// What the admin API works with: connections that may have rights of their own.
// Admission uses a Storage, as everywhere.
struct AdminStore {
    const store::Schema& schema;
    const store::StoreLinks links;
    const store::Clock& clock;
    Pauses pauses;
    ListLine lists;
};

}  // namespace petstore::service
