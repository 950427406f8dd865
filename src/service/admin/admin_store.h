#pragma once

#include <vector>

#include "../../redis/alarm.h"
#include "../../store/clock.h"
#include "../../store/key_servers.h"
#include "../../store/schema.h"

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

// What the admin API works with: connections that may have rights of their own.
// Admission uses a Storage, as everywhere.
struct AdminStore {
    const store::Schema& schema;
    const store::KeyServers servers;
    const store::Clock& clock;
    Pauses pauses;
};

}  // namespace petstore::service
