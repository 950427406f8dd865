// SPEC 2 and 3: what the operator changes shows within a second everywhere.
#include "support/store.h"

using namespace petstore::e2e;

namespace {

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

std::chrono::milliseconds promised() { return sanitized() ? 3s : 1s; }

}  // namespace

TEST_CASE("changes: a new plan and numbers of its own")
{
    NginxOptions options;
    options.workers = 2;
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "pro"});
    CHECK(all_workers_tell(store.nginx, key.secret, 300));

    const auto change = [&](std::vector<std::string> arguments, long long limit) {
        arguments.insert(arguments.begin(), {"key", "set", key.id});
        const auto result = ctl(store.redis.url(), arguments);
        INFO(result.err);
        REQUIRE(result.code == 0);
        const auto start = Clock::now();
        CHECK(wait_until(
            [&] { return all_workers_tell(store.nginx, key.secret, limit); }));
        CHECK(Clock::now() - start < promised());
    };
    change({"--plan", "business"}, 1000);
    change({"--per-minute", "777"}, 777);
    change({"--plan", "enterprise", "--per-minute", "5000", "--per-day", "6000"},
           5000);
    // What was used stays used.
    const auto usage =
        ctl(store.redis.url(), {"key", "usage", key.id, "--json"});
    CHECK(usage.code == 0);
    const auto rate =
        rate_headers_of(Http(store.nginx.url(), key.secret).get("/v1/pets"));
    CHECK(rate.remaining < 5000 - 48);
}

TEST_CASE("changes: more requests for a key that is over its limit")
{
    NginxOptions options;
    options.workers = 2;
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    const auto status = [&] {
        return Http(store.nginx.url(), key.secret).get("/v1/pets").status;
    };
    CHECK(wait_until([&] { return status() == 429; }));
    for (int i = 0; i < 8; ++i) {
        CHECK(status() == 429);
    }
    const auto start = Clock::now();
    REQUIRE(ctl(store.redis.url(), {"key", "set", key.id, "--plan", "pro"}).code == 0);
    CHECK(wait_until([&] {
        for (int i = 0; i < 8; ++i) {
            if (status() != 200) {
                return false;
            }
        }
        return true;
    }));
    CHECK(Clock::now() - start < promised());
}

TEST_CASE("changes: plans of the configuration")
{
    NginxOptions options;
    options.http = "petstore_plan free minute=7 day=70;"
                   "petstore_plan gold minute=70 day=700;";
    Store store(options);
    const auto free = create_key(store.redis, {"--plan", "free"});
    const auto pro = create_key(store.redis, {"--plan", "pro"});
    const auto gold = create_key(store.redis, {"--plan", "gold"});
    const auto limit = [&](const Key& key) {
        return rate_headers_of(Http(store.nginx.url(), key.secret).get("/v1/pets")).limit;
    };
    CHECK(limit(free) == 7);
    CHECK(limit(pro) == 300);
    CHECK(limit(gold) == 70);
}

TEST_CASE("changes: a mistake of the operator does not open the gate")
{
    Store store;
    const auto unknown = create_key(store.redis, {"--plan", "platinum"});
    const auto rate =
        rate_headers_of(Http(store.nginx.url(), unknown.secret).get("/v1/pets"));
    CHECK(rate.limit == 60);
    CHECK(rate.remaining == 59);
}

TEST_CASE("changes: the log can tell who and why")
{
    NginxOptions options;
    options.http = R"(log_format pets '$status $petstore_operation $petstore_key_id '
        '$petstore_plan $petstore_limit_status $petstore_limit_remaining '
        '$petstore_error_code $petstore_redis_time';
        access_log pets.log pets;)";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http http(store.nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(http.post("/v1/pets", "{").status == 400);
    CHECK(http.get("/v1/pets/5").status == 404);
    CHECK(Http(store.nginx.url()).get("/v1/pets").status == 401);
    const auto lines = [&] { return split(read_file(store.nginx.path("pets.log")), '\n'); };
    REQUIRE(wait_until([&] { return lines().size() >= 4; }));
    CHECK(contains(lines()[0], "200 listPets " + key.id + " free PASSED 59 - 0.0"));
    CHECK(contains(lines()[1], "400 createPet " + key.id
                                   + " free PASSED 58 invalid_json "));
    CHECK(contains(lines()[2],
                   "404 getPet " + key.id + " free PASSED 57 pet_not_found "));
    CHECK(contains(lines()[3], "401 "));
    CHECK(contains(lines()[3], " - - DENIED 59 missing_api_key "));
}
