// docs/directives.md, petstore_cost: what a request costs.
#include <algorithm>
#include <filesystem>
#include <mutex>
#include <thread>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";
const char* const kNotANumber = "is not a number from 1 to 10000";

Http client_of(const Store& store, const Key& key)
{
    return Http(store.nginx.url(), key.secret);
}

// GET /v1/pets where "petstore_cost $arg_cost" applies.
std::string costly_request(const std::string& secret, long long cost)
{
    return "GET /v1/pets?cost=" + std::to_string(cost)
           + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + secret
           + "\r\n\r\n";
}

}  // namespace

TEST_CASE("limits cost: a request is charged to all windows or to none")
{
    NginxOptions options;
    options.http = "petstore_limit_headers windows; petstore_ban off;";
    options.location = "petstore_cost 10;";
    options.server = "location /cheap/v1/ { petstore /cheap/v1; }";
    Store store(options);
    const auto key = limited_key(store.redis, 25, 100);
    auto http = client_of(store, key);
    for (const long long left : {15, 5}) {
        const auto rate = rate_headers_of(http.get("/v1/pets"));
        CHECK(rate.limit == 25);
        CHECK(rate.remaining == left);
    }
    // Too little for this request: nothing is left for it.
    const auto denied = http.get("/v1/pets");
    const auto message = expect_error(denied, 429, "rate_limit_exceeded");
    CHECK(contains(message,
                   "25 requests per minute, and this request counts as 10."));
    CHECK(rate_headers_of(denied).remaining == 0);
    CHECK(number(denied, "retry-after") >= 1);
    CHECK(number(denied, "x-ratelimit-remaining-minute") == 5);
    CHECK(number(denied, "x-ratelimit-remaining-day") == 80);
    CHECK(used(store.redis, key, "minute") == 20);
    CHECK(used(store.redis, key, "day") == 20);

    // Cheaper requests use up the rest, although the worker knows of the
    // denial.
    for (int i = 4; i >= 0; --i) {
        const auto response = http.get("/cheap/v1/pets");
        CHECK(response.status == 200);
        CHECK(rate_headers_of(response).remaining == i);
    }
    expect_error(http.get("/cheap/v1/pets"), 429, "rate_limit_exceeded");
    CHECK(used(store.redis, key, "minute") == 25);
    CHECK(used(store.redis, key, "day") == 25);
}

TEST_CASE("limits cost: every operation has it, whatever the result")
{
    NginxOptions options;
    options.location = "petstore_cost 3;";
    options.http = "log_format cost '$petstore_cost $petstore_limit_status';"
                   "access_log cost.log cost;";
    Store store(options);
    const auto key = limited_key(store.redis, 1000);
    auto http = client_of(store, key);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(http.post("/v1/pets", kPet).status == 201);
    CHECK(http.get("/v1/pets/1").status == 200);
    CHECK(http.get("/v1/pets/77").status == 404);
    CHECK(http.get("/v1/nothing").status == 404);
    CHECK(http.post("/v1/pets", "{").status == 400);
    CHECK(used(store.redis, key, "minute") == 18);
    // Neither is charged.
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    CHECK(http.get("/v1/openapi.json").status == 200);
    CHECK(http.get("/v1/pets", kNoKey).status == 401);
    CHECK(used(store.redis, key, "minute") == 18);

    std::vector<std::string> lines;
    CHECK(wait_until([&] {
        lines = split(read_file(store.nginx.path("cost.log")), '\n');
        return lines.size() == 9;
    }));
    CHECK(std::count(lines.begin(), lines.end(), "3 PASSED") == 6);
    CHECK(std::count(lines.begin(), lines.end(), "- -") == 2);
    CHECK(std::count(lines.begin(), lines.end(), "- DENIED") == 1);
}

TEST_CASE("limits cost: above the plan it is refused, never charged, no strike")
{
    NginxOptions options;
    options.location = "petstore_cost 61; petstore_ban threshold=3;";
    options.server = "location /cheap/v1/ { petstore /cheap/v1; }"
                     "location /dry/v1/ { petstore /dry/v1; petstore_cost 61;"
                     "    petstore_limit_dry_run on; }";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    auto http = client_of(store, key);
    CHECK(http.get("/cheap/v1/pets").status == 200);
    const auto refused = [&](const Response& response) {
        CHECK(
            expect_error(response, 403, "cost_exceeds_plan")
            == "The cost of this request, 61, exceeds the limit of 60 requests per minute.");
        CHECK_FALSE(response.has("retry-after"));
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == 60);
        CHECK(rate.remaining == 59);
    };
    // Far more than lead to a ban.
    for (int i = 0; i < 300; ++i) {
        refused(http.get("/v1/pets"));
    }
    refused(http.post("/v1/pets", kPet));
    CHECK(http.get("/dry/v1/pets").status == 200);
    CHECK(used(store.redis, key, "minute") == 1);
    CHECK(used(store.redis, key, "strikes") == 0);
    CHECK(http.get("/cheap/v1/pets").status == 200);

    // A larger plan takes effect within a second.
    REQUIRE(ctl(store.redis.url(), {"key", "set", key.id, "--plan", "pro"}).code
            == 0);
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return http.get("/v1/pets").status == 200; }));
    CHECK(rate_headers_of(http.get("/v1/pets")).limit == 300);

    // A revoked key is refused as such, although its plan is too small.
    REQUIRE(
        ctl(store.redis.url(), {"key", "set", key.id, "--plan", "free"}).code
        == 0);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 403; }));
    REQUIRE(ctl(store.redis.url(), {"key", "disable", key.id}).code == 0);
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return http.get("/v1/pets").status == 401; }));
}

TEST_CASE("limits cost: a map's regular expression leaves $1 to the location")
{
    NginxOptions options;
    options.http = R"(
        map $arg_size:$1 $sized { "~^(\w+):public$" 5; }
        map $arg_size $plain { "~^\w" 7; })";
    options.server = R"(
        location ~ ^/f/(\w+)$ {
            petstore_guard on; petstore_cost $sized; alias %DIR%/$1;
        }
        location ~ ^/p/(\w+)$ {
            petstore_guard on; petstore_cost $plain; alias %DIR%/$1;
        })";
    Store store(options);
    write_file(store.nginx.path("public"), "public");
    write_file(store.nginx.path("secret"), "secret");
    const auto left = rate_headers_of(store.http.get("/f/public")).remaining;
    for (const auto& [path, cost] : {std::pair("/f/public?size=secret", 5),
                                     std::pair("/p/public?size=secret", 12)}) {
        const auto response = store.http.get(path);
        CHECK(response.body == "public");
        CHECK(rate_headers_of(response).remaining == left - cost);
    }
}

TEST_CASE("limits cost: a variable decides, and 1 where it is not a number")
{
    NginxOptions options;
    options.http = R"(
        map $request_method:$uri $cost {
            ~^POST: 5;
            ~/export$ 50;
            default 1;
        })";
    options.location = "petstore_cost $cost;";
    options.server = R"(
        location /sent/v1/ { petstore /sent/v1; petstore_cost ${arg_cost}; }
        location /also/v1/ { petstore /also/v1; petstore_cost $arg_cost; })";
    Store store(options);
    const auto key = limited_key(store.redis, 100'000);
    auto http = client_of(store, key);
    long long charged = 0;
    const auto costs = [&](const Response& response, long long cost) {
        charged += cost;
        CHECK(rate_headers_of(response).remaining == 100'000 - charged);
        CHECK(used(store.redis, key, "minute") == charged);
    };
    costs(http.get("/v1/pets"), 1);
    costs(http.post("/v1/pets", kPet), 5);
    costs(http.get("/v1/export"), 50);
    CHECK_FALSE(contains(store.nginx.error_log(), kNotANumber));

    costs(http.get("/sent/v1/pets?cost=7"), 7);
    costs(http.get("/sent/v1/pets?cost=10000"), 10'000);
    CHECK_FALSE(contains(store.nginx.error_log(), kNotANumber));
    for (const char* wrong :
         {"", "0", "-3", "10001", "1.5", "007", "x", "99999999999999999999"}) {
        INFO(wrong);
        costs(http.get("/sent/v1/pets?cost=" + std::string(wrong)), 1);
    }
    costs(http.get("/sent/v1/pets"), 1);
    // One line per location, which does not repeat what the client sent.
    const std::string line =
        "petstore: the request costs 1, because \"$arg_cost\" of \"petstore_cost\" is not a number from 1 to 10000";
    CHECK(count_of(store.nginx.error_log(), line) == 1);
    costs(http.get("/also/v1/pets?cost=geheim"), 1);
    costs(http.get("/also/v1/pets?cost=geheim"), 1);
    CHECK(count_of(store.nginx.error_log(), line) == 2);
}

TEST_CASE("limits cost: it is inherited, and a location has its own")
{
    NginxOptions options;
    options.http = "petstore_cost 2;";
    options.server = R"(
        location /outer/v1/ { petstore /outer/v1; petstore_cost 3;
            location /outer/v1/pets/ { petstore /outer/v1; } }
        location /one/v1/ { petstore /one/v1; petstore_cost 1; })";
    Store store(options);
    const auto key = limited_key(store.redis, 100);
    auto http = client_of(store, key);
    long long left = 100;
    for (const auto& [path, cost] :
         {std::pair("/v1/pets", 2), std::pair("/outer/v1/pets", 3),
          std::pair("/outer/v1/pets/1", 3), std::pair("/one/v1/pets", 1)}) {
        INFO(path);
        left -= cost;
        CHECK(rate_headers_of(http.get(path)).remaining == left);
    }
}

TEST_CASE("limits cost: a guard charges the first location's, once")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        petstore_cost 7;
        location /part/ { petstore_cost 100; proxy_pass http://%BACK_END%; }
        location /pages/ { root %DIR%; ssi on; }
        location /accel/ { proxy_pass http://%BACK_END%; }
        location /inner/ { internal; petstore_cost 200;
            proxy_pass http://%BACK_END%; }
        location /checked/ { auth_request /part/auth; petstore_cost 300;
            proxy_pass http://%BACK_END%; }
        location /open/ { petstore_guard off; root %DIR%; ssi on; }
        location /tried/ { root %DIR%; try_files /none /inner/x; })";
    GuardedStore shop(
        options, "proxy_set_header X-Cost $petstore_cost;",
        [](const BackEnd::Request& request) {
            Response response;
            response.status = 200;
            if (request.target == "/accel/a") {
                response.headers = {{"X-Accel-Redirect", "/inner/b"}};
            }
            return response;
        });
    const auto key = limited_key(shop.store.redis, 100'000);
    auto http = client_of(shop.store, key);
    std::filesystem::create_directory(shop.store.nginx.path("pages"));
    std::filesystem::create_directory(shop.store.nginx.path("open"));
    const std::string parts = repeat("<!--#include virtual=\"/part/x\" -->", 3);
    write_file(shop.store.nginx.path("pages/three.html"), parts);
    write_file(shop.store.nginx.path("open/three.html"), parts);

    long long charged = 0;
    for (const auto& [path, cost] : {
             std::pair("/shop/orders", 7),
             std::pair("/pages/three.html", 7),
             std::pair("/accel/a", 7),
             std::pair("/tried/x", 7),
             // The subrequest of auth_request enters its location first.
             std::pair("/checked/x", 100),
             std::pair("/open/three.html", 100),
         }) {
        INFO(path);
        charged += cost;
        CHECK(http.get(path).status == 200);
        CHECK(used(shop.store.redis, key, "minute") == charged);
        CHECK(used(shop.store.redis, key, "day") == charged);
    }
    CHECK(shop.back_end.requests().front().header("x-cost") == "7");

    // Above the plan, the handler never runs.
    const auto small = limited_key(shop.store.redis, 6);
    const auto reached = shop.back_end.count();
    http.use_key(small.secret);
    expect_error(http.get("/shop/orders"), 403, "cost_exceeds_plan");
    CHECK(shop.back_end.count() == reached);
    CHECK(used(shop.store.redis, small, "minute") == 0);
}

TEST_CASE("limits cost: no unit too many and none too few, over two hosts")
{
    NginxOptions options;
    options.location = "petstore_cost $arg_cost; petstore_ban off;";
    Hosts hosts(2, options);
    constexpr long long kLimit = 2003;
    const auto key = limited_key(hosts.redis, 100'000'000, kLimit);

    std::vector<std::pair<long long, Answer>> passed;  // with their cost
    std::mutex mutex;
    const auto storm_of = [&](long long cost, std::size_t requests) {
        auto storm = hosts.storm(key);
        storm.connections = 32;
        storm.request = costly_request(key.secret, cost);
        for (const auto& answer : admitted(storm.run(requests))) {
            const std::lock_guard lock(mutex);
            passed.emplace_back(cost, answer);
        }
    };
    {
        // More than the limit, but too few of the others to exclude any cost.
        std::vector<std::thread> storms;
        for (const auto& [cost, requests] :
             {std::pair(1, 400), {3, 100}, {7, 60}, {50, 20}}) {
            storms.emplace_back([&storm_of, cost = cost, requests = requests] {
                storm_of(cost, static_cast<std::size_t>(requests));
            });
        }
        for (auto& storm : storms) {
            storm.join();
        }
    }
    // What costly requests left is usable to the last unit.
    storm_of(1, kLimit);

    // Each response shows what the requests before it and itself have left.
    std::sort(passed.begin(), passed.end(), [](const auto& a, const auto& b) {
        return a.second.remaining > b.second.remaining;
    });
    long long left = kLimit;
    long long wrong = 0;
    for (const auto& [cost, answer] : passed) {
        left -= cost;
        wrong += answer.remaining != left || answer.limit != kLimit;
    }
    CHECK(wrong == 0);
    CHECK(left == 0);
    CHECK(used(hosts.redis, key, "day") == kLimit);
    CHECK(used(hosts.redis, key, "minute") == kLimit);
    for (const long long cost : {3, 7, 50}) {
        CHECK(std::any_of(passed.begin(), passed.end(),
                          [&](const auto& one) { return one.first == cost; }));
    }
}
