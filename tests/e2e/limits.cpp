// docs/limits.md: the basic cases, one client at a time. Load, several hosts,
// faults and operators are covered by the other limits_*.cpp.
#include <cstdlib>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

Http client(const Store& store, std::vector<std::string> plan)
{
    return Http(store.nginx.url(),
                create_key(store.redis, std::move(plan)).secret);
}

bool all_workers_tell(const NginxServer& nginx, const std::string& secret,
                      long long limit)
{
    for (int i = 0; i < 12; ++i) {
        const auto response = Http(nginx.url(), secret).get("/v1/pets");
        if (response.header("x-ratelimit-limit") != std::to_string(limit)) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("limits: count down from the plan and keep their reset")
{
    Store store;
    const std::vector<std::pair<std::string, long long>> plans = {
        {"free", 60}, {"pro", 300}, {"business", 1000}};
    for (const auto& [plan, limit] : plans) {
        INFO(plan);
        auto http = client(store, {"--plan", plan});
        const auto before = unix_time();
        const auto first = rate_headers_of(http.get("/v1/pets"));
        const auto after = unix_time();
        CHECK(first.limit == limit);
        CHECK(first.remaining == limit - 1);
        CHECK(first.reset >= before + 60);
        CHECK(first.reset <= after + 61);
        for (long long i = 2; i <= 10; ++i) {
            const auto rate = rate_headers_of(http.get("/v1/pets"));
            CHECK(rate.limit == limit);
            CHECK(rate.remaining == limit - i);
            CHECK(rate.reset == first.reset);
        }
    }
}

TEST_CASE("limits: describe the window with the fewest requests left")
{
    Store store;
    auto day = client(store, {"--plan", "enterprise", "--per-minute", "10",
                              "--per-day", "5"});
    const auto of_day = rate_headers_of(day.get("/v1/pets"));
    CHECK(of_day.limit == 5);
    CHECK(of_day.remaining == 4);
    CHECK(of_day.reset >= unix_time() + 86395);

    // On a tie, the window that resets later is reported.
    auto tie = client(
        store, {"--plan", "enterprise", "--per-minute", "7", "--per-day", "7"});
    const auto of_tie = rate_headers_of(tie.get("/v1/pets"));
    CHECK(of_tie.limit == 7);
    CHECK(of_tie.remaining == 6);
    CHECK(of_tie.reset >= unix_time() + 86395);

    auto minute = client(store, {"--plan", "enterprise", "--per-minute", "5",
                                 "--per-day", "10"});
    const auto of_minute = rate_headers_of(minute.get("/v1/pets"));
    CHECK(of_minute.limit == 5);
    CHECK(of_minute.reset <= unix_time() + 61);
}

TEST_CASE("limits: a 429 reports the limit and when to retry")
{
    Store store;
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http http(store.nginx.url(), key.secret);
    RateHeaders last;
    for (int i = 0; i < 60; ++i) {
        const auto response = http.get("/v1/pets");
        REQUIRE(response.status == 200);
        last = rate_headers_of(response);
    }
    CHECK(last.remaining == 0);
    for (const auto& response :
         {http.get("/v1/pets"), http.get("/v1/pets/1"), http.get("/v1/nowhere"),
          http.post("/v1/pets", "nonsense"),
          http.request("DELETE", "/v1/pets")}) {
        const auto message = expect_error(response, 429, "rate_limit_exceeded");
        CHECK(contains(message, "60"));
        CHECK(contains(message, "minute"));
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == 60);
        CHECK(rate.remaining == 0);
        CHECK(rate.reset == last.reset);
        const auto wait = std::atoll(response.header("retry-after").c_str());
        const auto now = unix_time();
        CHECK(wait >= 1);
        CHECK(std::llabs(rate.reset - now - wait) <= 5);
    }
    const auto head = http.head("/v1/pets");
    CHECK(head.status == 429);
    CHECK(head.body.empty());
    // The key's limit applies neither to OPTIONS nor to requests without a key.
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    CHECK(Http(store.nginx.url()).get("/v1/pets").status == 401);
}

TEST_CASE("limits: with both windows used up the later reset is reported")
{
    Store store;
    const auto key =
        create_key(store.redis, {"--plan", "enterprise", "--per-minute", "3",
                                 "--per-day", "3"});
    Http http(store.nginx.url(), key.secret);
    for (int i = 0; i < 3; ++i) {
        CHECK(http.get("/v1/pets").status == 200);
    }
    const auto response = http.get("/v1/pets");
    CHECK(contains(expect_error(response, 429, "rate_limit_exceeded"), "day"));
    CHECK(rate_headers_of(response).reset >= unix_time() + 86390);
}

TEST_CASE("limits: a new plan and limits of a single key")
{
    NginxOptions options;
    options.workers = 2;
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "pro"});
    CHECK(all_workers_tell(store.nginx, key.secret, 300));

    const auto change = [&](std::vector<std::string> arguments,
                            long long limit) {
        arguments.insert(arguments.begin(), {"key", "set", key.id});
        const auto result = ctl(store.redis.url(), arguments);
        INFO(result.err);
        REQUIRE(result.code == 0);
        CHECK(kept_by(Clock::now() + 1s, [&] {
            return all_workers_tell(store.nginx, key.secret, limit);
        }));
    };
    change({"--plan", "business"}, 1000);
    change({"--per-minute", "777"}, 777);
    change(
        {"--plan", "enterprise", "--per-minute", "5000", "--per-day", "6000"},
        5000);
    // Used requests stay used.
    const auto usage =
        ctl(store.redis.url(), {"key", "usage", key.id, "--json"});
    CHECK(usage.code == 0);
    const auto rate =
        rate_headers_of(Http(store.nginx.url(), key.secret).get("/v1/pets"));
    CHECK(rate.remaining < 5000 - 48);
}

TEST_CASE("limits: an operator's mistake does not lift the limits")
{
    Store store;
    const auto unknown = create_key(store.redis, {"--plan", "platinum"});
    const auto rate = rate_headers_of(
        Http(store.nginx.url(), unknown.secret).get("/v1/pets"));
    CHECK(rate.limit == 60);
    CHECK(rate.remaining == 59);
}

TEST_CASE("limits: accounts do not share their limits")
{
    Store store;
    auto one = client(store, {"--plan", "free"});
    auto other = client(store, {"--plan", "free"});
    for (int i = 1; i <= 60; ++i) {
        CHECK(one.get("/v1/pets").status == 200);
    }
    CHECK(one.get("/v1/pets").status == 429);
    CHECK(rate_headers_of(other.get("/v1/pets")).remaining == 59);
}
