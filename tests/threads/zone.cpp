// The metrics in the zone, with threads in place of nginx's workers. Under
// ThreadSanitizer, which reports plain memory that is used without an order; it
// sees neither fences nor a wrong order of relaxed atomics.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "catch.h"
#include "metrics/slot.h"
#include "metrics/totals.h"

using namespace petstore::metrics;

namespace {

constexpr int kWorkers = 3;
constexpr int kLives = 300;  // of each worker: processes, one after the other
constexpr int kRequests = 50;
constexpr std::uint64_t kNow = 1'700'000'040;  // the start of a minute
static_assert(kNow % 60 == 0);

std::string account_of(int worker)
{
    return "account" + std::to_string(worker);
}

std::string plan_of(std::string_view account)
{
    const std::string text(account);
    return "name" + std::to_string(std::stoi(text.substr(7)) % 16);
}

bool is_alive(std::int64_t) noexcept
{
    return true;
}

// The zone, laid out as in the module.
class Zone {
public:
    Zone()
    {
        directory.routes = &routes_;
        directory.busy = &busy;
    }

    // The life of one worker.
    void work(int number)
    {
        const std::string account = account_of(number);
        const std::string name = plan_of(account);
        std::size_t plan = 0;
        std::size_t route = 0;
        Process* process = nullptr;
        Slot* slot = nullptr;
        {
            const std::lock_guard lock(mutex);
            plan = directory.plans.add(name);
            route = routes_.names.add(name);
            directory.redis.add(name);
            process = free_or_new(directory.processes, processes_);
            process->redis[0].all.reset();
            process->redis[0].down.reset();
            set_owner(*process, number + 1);
            slot = free_or_new(directory.slots, slots_);
            set_owner(*slot, number + 1);
        }
        {
            CountedLink link(process->redis[0]);
            for (int i = 0; i < kRequests; ++i) {
                link.set_down(i % 2 == 0);
                count(*slot, plan, route, account, kNow + i * 5);
            }
        }
        set_owner(*process, 0);
        set_owner(*slot, 0);
    }

    Totals totals(std::uint64_t now) const
    {
        Totals totals = totals_of(directory, is_alive, now);
        const std::lock_guard lock(mutex);
        add_busiest(busy.read_all(now), totals);
        return totals;
    }

    mutable std::mutex mutex;
    Directory directory;
    BusyAccounts busy;

private:
    // The zone must be locked.
    template <typename T>
    static T* free_or_new(std::atomic<T*>& list,
                          std::vector<std::unique_ptr<T>>& memory)
    {
        T* const item = find_free(list, is_alive);
        if (item != nullptr) {
            return item;
        }
        memory.push_back(std::make_unique<T>());
        push_front(list, *memory.back());
        return memory.back().get();
    }

    void count(Slot& slot, std::size_t plan, std::size_t route,
               const std::string& account, std::uint64_t now)
    {
        slot.requests[0][0].add();
        slot.decisions[plan][0].add();
        slot.request_duration.add(now % 1000);
        slot.recent.add(0, static_cast<std::uint32_t>(now));
        slot.denied.add(account, static_cast<std::uint32_t>(plan), false,
                        kNow + 3600, now);
        routes_.requests[route][0].add();
        const auto index = static_cast<std::uint32_t>(plan);
        if (busy.count(account, index, now) != BusyAccounts::Counted::yes) {
            const std::lock_guard lock(mutex);
            busy.add(account, "external " + account, index, now);
            busy.set_names(account, "external " + account, "label " + account);
        }
    }

    Routes routes_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::vector<std::unique_ptr<Slot>> slots_;
};

bool is_name(const std::string& name)
{
    return name.rfind("name", 0) == 0 || name == "unknown" || name == "other";
}

bool is_whole(const BusyAccount& account)
{
    const std::string id = account.id;
    const std::string label = account.label;
    return account.external_id == "external " + id
           && (label.empty() || label == "label " + id);
}

// No name and no entry was read half-written.
bool is_whole(const Totals& totals)
{
    bool whole = true;
    for (const auto& plan : totals.plans) {
        whole &= is_name(plan.name);
    }
    for (const auto& route : totals.routes) {
        whole &= is_name(route.name);
    }
    for (const auto& denied : totals.denied) {
        // The plan may have been added after the plans were read.
        whole &= denied.plan == "unknown"
                 || denied.plan == plan_of(denied.account.account());
    }
    for (const auto& busy : totals.busiest) {
        whole &= is_whole(busy.account);
    }
    return whole;
}

}  // namespace

TEST_CASE("threads: workers come and go while their metrics are summed")
{
    const auto zone = std::make_unique<Zone>();
    std::atomic<int> working{kWorkers};
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kWorkers; ++worker) {
        workers.emplace_back([&zone, &working, worker] {
            for (int life = 0; life < kLives; ++life) {
                zone->work(life * kWorkers + worker);
            }
            --working;
        });
    }
    bool whole = true;
    bool ascending = true;
    std::uint64_t seen = 0;
    while (working != 0) {
        const Totals totals = zone->totals(kNow + 60);
        whole &= is_whole(totals);
        ascending &= totals.requests[0][0] >= seen;
        seen = totals.requests[0][0];
        BusyAccount account;
        for (std::size_t i = 0; i < BusyAccounts::kSize; ++i) {
            const std::lock_guard lock(zone->mutex);
            whole &= !zone->busy.wants_names(i, kNow + 60, account)
                     || is_whole(account);
        }
    }
    for (auto& worker : workers) {
        worker.join();
    }
    CHECK(whole);
    CHECK(ascending);

    const Totals totals = zone->totals(kNow);
    constexpr auto kAll =
        static_cast<std::uint64_t>(kWorkers * kLives * kRequests);
    CHECK(totals.requests[0][0] == kAll);
    CHECK(totals.request_duration.count() == kAll);
    CHECK(totals.workers == 0);
    // Each slot and each gauge has been given up by one worker, and claimed by
    // the next.
    const Process* process = first(zone->directory.processes);
    int processes = 0;
    for (; process != nullptr; process = process->next) {
        CHECK(process->redis[0].all.get() == 0);
        CHECK(process->redis[0].down.get() == 0);
        ++processes;
    }
    CHECK(processes <= kWorkers);
}

TEST_CASE("threads: a list is read while it grows")
{
    constexpr int kItems = 500;
    std::vector<std::unique_ptr<Process>> items;
    std::atomic<Process*> list{nullptr};
    std::thread writer([&] {
        for (int i = 0; i < kItems; ++i) {
            items.push_back(std::make_unique<Process>());
            push_front(list, *items.back());
        }
    });
    bool ascending = true;
    int seen = 0;
    while (seen < kItems) {
        int length = 0;
        for (const Process* item = first(list); item != nullptr;
             item = item->next) {
            ++length;
        }
        ascending &= length >= seen;
        seen = length;
    }
    writer.join();
    CHECK(ascending);
}

TEST_CASE("threads: a denied account is never read half-written")
{
    const auto denied = std::make_unique<DeniedAccounts>();
    const auto deny = [&denied](std::uint32_t value) {
        denied->add("acme", value, false, value, value);
    };
    deny(1);
    DeniedAccount account;
    std::size_t entry = 0;
    while (!denied->read(entry, account)) {
        ++entry;
        REQUIRE(entry < DeniedAccounts::kSize);
    }
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        for (std::uint32_t value = 2; !stop; ++value) {
            deny(value);
        }
    });
    int torn = 0;
    for (int i = 0; i < 100'000; ++i) {
        if (denied->read(entry, account)) {
            torn +=
                account.until == account.plan && account.last == account.plan
                    ? 0
                    : 1;
        }
    }
    stop = true;
    worker.join();
    CHECK(torn == 0);
}
