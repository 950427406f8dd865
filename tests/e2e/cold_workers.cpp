// A new worker knows no keys: many concurrent requests must not cause many
// lookups.
#include <algorithm>

#include "support/store.h"
#include "support/storm.h"

using namespace petstore::e2e;

namespace {

constexpr std::size_t kRequests = 600;

// Sends a request on every connection before Redis answers any of them.
std::vector<Answer> ask_at_once(const Store& store)
{
    Storm storm;
    storm.ports = {store.nginx.port()};
    storm.connections = 300;
    storm.request = store.head("GET /v1/pets HTTP/1.1");
    return storm.run(kRequests);
}

NginxOptions patient()
{
    NginxOptions options;
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 10s;";
    return options;
}

void check_all(const std::vector<Answer>& answers, int status)
{
    CHECK(answers.size() == kRequests);
    CHECK(std::all_of(
        answers.begin(), answers.end(),
        [status](const Answer& answer) { return answer.status == status; }));
}

// A lookup reads the records of a key and its account.
constexpr std::size_t kRecords = 2;

std::size_t lookups(Monitor& monitor)
{
    const auto names = monitor.names();
    return static_cast<std::size_t>(
        std::count(names.begin(), names.end(), "HGETALL"));
}

}  // namespace

TEST_CASE("cold: the first requests with a key share its lookup")
{
    Store store(patient());
    import_pets(store.redis, 3);
    for (int round = 0; round < 3; ++round) {
        Monitor monitor(store.redis);
        check_all(ask_at_once(store), 200);
        CHECK(lookups(monitor) == kRecords);
        store.nginx.reload_and_settle();
    }
}

TEST_CASE("cold: requests with a changed key share its lookup")
{
    Store store(patient());
    CHECK(store.http.get("/v1/pets").status == 200);
    for (int round = 0; round < 3; ++round) {
        CHECK(ctl(store.redis.url(),
                  {"key", "set", store.key.id, "--label", "changed"})
                  .code
              == 0);
        Monitor monitor(store.redis);
        check_all(ask_at_once(store), 200);
        CHECK(lookups(monitor) == kRecords);
    }
}

TEST_CASE("cold: all waiting requests with a deleted key are refused")
{
    Store store(patient());
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(ctl(store.redis.url(), {"key", "delete", store.key.id}).code == 0);
    Monitor monitor(store.redis);
    const auto start = Clock::now();
    check_all(ask_at_once(store), 401);
    // A worker remembers an unknown key for 0.8 seconds; then one request looks
    // it up again.
    const auto times = (Clock::now() - start) / 800ms + 3;
    CHECK(lookups(monitor) <= static_cast<std::size_t>(times));
}
