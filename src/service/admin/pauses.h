#pragma once

#include <vector>

#include "../../redis/alarm.h"
#include "../../store/waiter.h"

namespace petstore::service {

// Lets operations wait for a moment, for another request that works on the same
// thing.
class Pauses final : private redis::Alarm::User {
public:
    static constexpr std::uint64_t kMilliseconds = 50;

    explicit Pauses(redis::Alarm& alarm) noexcept : alarm_(alarm) {}

    // Calls the waiter after a pause. Throws std::bad_alloc.
    void add(store::Waiter<store::Done>& waiter);

private:
    void on_alarm() noexcept override;

    redis::Alarm& alarm_;
    std::vector<store::Waiter<store::Done>*> waiting_;
};

}  // namespace petstore::service
