#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "../../api/usage.h"
#include "../clock.h"
#include "../damage.h"
#include "../event_log.h"
#include "../operations.h"
#include "../shared_read.h"
#include "../store_links.h"
#include "redis_clock.h"

namespace petstore::store {

using SharedUsage = std::shared_ptr<const api::AccountUsage>;

// What accounts have used, for their own keys: the windows, and the days of
// this month. One worker asks Redis about an account at most once per second,
// and more often only if the account changes. One per Storage.
class OwnUsage {
public:
    static constexpr Monotonic kKeptFor = 1000;
    // The most answers in memory, each of at most 2 KiB.
    static constexpr std::size_t kMaxKept = 4096;

    struct Logs {
        DamageLog& damage;
        EventLog& events;
    };

    // All borrowed.
    OwnUsage(const StoreLinks& links, const RedisClock& redis_clock,
             const Clock& clock, Logs logs);
    ~OwnUsage();
    OwnUsage(const OwnUsage&) = delete;

    // An answer in memory is used only if the account had this epoch, or no
    // state. Calls the waiter exactly once, possibly before it returns. Damage
    // is logged here.
    void read(std::string_view account, std::int64_t epoch,
              Waiter<SharedUsage>& waiter) noexcept;

private:
    class Read;
    using Reads = SharedReads<Read, Waiter<SharedUsage>*, std::string>;

    struct Answer {
        SharedUsage usage;
        Monotonic sent = 0;
    };

    void start(const std::string& account, Waiter<SharedUsage>& waiter);
    const Answer* find(const std::string& account, std::int64_t epoch) noexcept;
    void keep(const std::string& account, Answer answer);

    const StoreLinks links_;
    const RedisClock& redis_clock_;
    const Clock& clock_;
    const Logs logs_;
    std::unordered_map<std::string, Answer> answers_;
    std::deque<std::pair<Monotonic, std::string>> by_age_;
    Reads reads_;
    Operations running_;
};

}  // namespace petstore::store
