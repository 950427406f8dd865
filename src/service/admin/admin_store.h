#pragma once

#include <cstdint>
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
    std::uint64_t lists_begun = 0;  // see ListTurn
    std::uint64_t lists_ended = 0;
};

// A place in the line of operations that read many records, which take turns:
// each has up to 256 commands in the queue to Redis, which is that of
// customers' requests, too.
class ListTurn {
public:
    static constexpr std::uint64_t kMost = 8;  // at a time
    // In milliseconds. As it is the same for all, those that give up are the
    // first that wait.
    static constexpr store::Monotonic kPatience = 5000;

    explicit ListTurn(AdminStore& store) noexcept
        : store_(store), number_(store.lists_begun++)
    {}
    ~ListTurn() { ++store_.lists_ended; }
    ListTurn(const ListTurn&) = delete;

    bool has_come() const noexcept
    {
        return number_ < store_.lists_ended + kMost;
    }

private:
    AdminStore& store_;
    const std::uint64_t number_;
};

}  // namespace petstore::service
