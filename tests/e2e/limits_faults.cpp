// docs/limits.md, "What exact means": whatever happens to Redis, no more
// requests are admitted than the plan allows. A request whose reply from Redis
// is lost gets a 503 and may be charged without being admitted.
#include <atomic>
#include <set>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

// Sends requests until the limit is reached, and calls `harm` several times,
// until a request fails. Each admitted request has a distinct Remaining in one
// window: none was forgotten, no two were counted as one, and the window did
// not restart. It is a day: a storm may take longer than a minute.
void check_never_over(Hosts& hosts, long long limit, int harms,
                      const std::function<void()>& harm)
{
    const auto key = limited_key(hosts.redis, 100'000'000, limit);
    auto storm = hosts.storm(key);
    std::atomic<int> done{0};
    std::atomic<bool> effect{false};
    Meanwhile harming(10ms, [&] {
        if (done < harms || !effect) {
            harm();
            ++done;
        }
    });
    int done_before_refusal = -1;
    int refusals = 0;
    const auto answers = storm.run_until([&](const Answer& answer) {
        effect = effect || answer.status == 503;
        if (answer.status == 429) {
            ++refusals;
            if (done_before_refusal < 0) {
                done_before_refusal = done;
            }
        }
        return refusals >= 1000 && done >= harms;
    });
    harming.end();

    long long admitted = 0;
    long long failed = 0;
    long long wrong = 0;
    std::set<long long> remaining;
    std::set<long long> resets;
    for (const auto& answer : answers) {
        if (answer.status == 200) {
            ++admitted;
            remaining.insert(answer.remaining);
            resets.insert(answer.reset);
            wrong += answer.limit != limit || answer.remaining >= limit;
        } else if (answer.status == 503) {
            ++failed;
            wrong +=
                answer.code != "service_unavailable" || answer.retry_after < 1;
        } else {
            wrong += answer.status != 429;
        }
    }
    INFO(admitted << " admitted, " << failed << " failed, " << refusals
                  << " refused");
    CHECK(admitted <= limit);
    CHECK(admitted > 0);
    CHECK(static_cast<long long>(remaining.size()) == admitted);
    CHECK(resets.size() == 1);
    CHECK(wrong == 0);
    CHECK(used(hosts.redis, key, "day") == limit);
    // The harm happened in mid-storm and had an effect.
    CHECK(done_before_refusal >= 2);
    CHECK(failed > 0);
}

}  // namespace

TEST_CASE("limits faults: Redis restarted in mid-storm")
{
    Hosts hosts(3, {}, {"appendfsync everysec"});
    check_never_over(hosts, 20'000, 3, [&] { hosts.redis.restart(); });
}

TEST_CASE("limits faults: Redis killed in mid-storm")
{
    Hosts hosts(3, {}, {"appendfsync always"});
    check_never_over(hosts, 20'000, 3, [&] {
        hosts.redis.kill_hard();
        hosts.redis.start();
    });
}

TEST_CASE("limits faults: connections cut in mid-storm")
{
    Hosts hosts(3);
    check_never_over(hosts, 40'000, 20, [&] {
        hosts.redis.command({"CLIENT", "KILL", "TYPE", "normal"});
    });
}

TEST_CASE("limits faults: Redis silent in mid-storm until commands time out")
{
    NginxOptions options;
    options.location = "petstore_redis_timeout 100ms;";
    Hosts hosts(3, options);
    const auto lines = [&](const char* text) {
        std::size_t count = 0;
        for (const auto& host : hosts.nginx) {
            count += count_of(host->error_log(), text);
        }
        return count;
    };
    check_never_over(hosts, 40'000, 4, [&] {
        const auto silent = lines("timed out");
        hosts.redis.pause();
        wait_until([&] { return lines("timed out") > silent; });
        const auto back = lines("is back");
        hosts.redis.resume();
        wait_until([&] { return lines("is back") > back; });
    });
}
