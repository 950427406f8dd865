// docs/limits.md, "Windows": the calendar month in UTC.
#include <regex>

#include "support/redis_clock.h"

using namespace petstore::e2e;

namespace {

// Redis's clock, and an nginx with a plan "small".
struct Monthly {
    explicit Monthly(const std::string& limits, const std::string& location)
        : nginx(options(limits, location)),
          key(create_key(clocked.redis, {"--plan", "small"})),
          http(nginx.url(), key.secret)
    {}

    NginxOptions options(const std::string& limits, const std::string& location)
    {
        NginxOptions options;
        options.redis = clocked.redis.url();
        options.http = "petstore_plan small " + limits + ";";
        options.location = "petstore_ban off;" + location;
        return options;
    }

    ClockedRedis clocked;
    NginxServer nginx;
    Key key;
    Http http;
};

}  // namespace

TEST_CASE("limits month: it ends with the month by Redis's clock")
{
    Monthly store("minute=100 day=1000 month=5",
                  "petstore_limit_headers windows;");
    auto& http = store.http;
    const auto check = [](const Response& response, long long left,
                          const std::string& end) {
        CHECK(number(response, "x-ratelimit-limit-month") == 5);
        CHECK(number(response, "x-ratelimit-remaining-month") == left);
        CHECK(number(response, "x-ratelimit-reset-month")
              == ClockedRedis::unix_seconds(end));
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == 5);
        CHECK(rate.remaining == left);
        CHECK(rate.reset == ClockedRedis::unix_seconds(end));
    };
    store.clocked.set_time("2027-02-28 23:58:00");
    for (int i = 4; i >= 0; --i) {
        const auto response = http.get("/v1/pets");
        CHECK(response.status == 200);
        check(response, i, "2027-03-01 00:00:00");
    }
    const auto denied = http.get("/v1/pets");
    const auto message = expect_error(denied, 429, "rate_limit_exceeded");
    CHECK(contains(message, "Rate limit exceeded: 5 requests per month."));
    check(denied, 0, "2027-03-01 00:00:00");
    CHECK(number(denied, "retry-after") <= 120);
    CHECK(number(denied, "retry-after") > 60);
    // Denied requests are charged to no window.
    CHECK(number(denied, "x-ratelimit-remaining-minute") == 95);
    CHECK(number(denied, "x-ratelimit-remaining-day") == 995);

    store.clocked.set_time("2027-03-01 00:00:00");
    Response response;
    CHECK(wait_until([&] {
        response = http.get("/v1/pets");
        return response.status == 200;
    }));
    check(response, 4, "2027-04-01 00:00:00");
    // The day goes on.
    CHECK(number(response, "x-ratelimit-remaining-day") == 994);
}

TEST_CASE("limits month: a clock that was ahead begins no month anew")
{
    Monthly store("minute=100 day=1000 month=5",
                  "petstore_limit_headers windows;");
    auto& http = store.http;
    store.clocked.set_time("2027-02-10 12:00:00");
    for (int i = 0; i < 3; ++i) {
        REQUIRE(http.get("/v1/pets").status == 200);
    }
    store.clocked.set_time("2027-04-20 12:00:00");
    REQUIRE(http.get("/v1/pets").status == 200);
    store.clocked.set_time("2027-02-10 13:00:00");
    CHECK(number(http.get("/v1/pets"), "x-ratelimit-remaining-month") == 1);
    CHECK(http.get("/v1/pets").status == 200);
    expect_error(http.get("/v1/pets"), 429, "rate_limit_exceeded");
}

TEST_CASE("limits month: a month in which the clock was before is not refilled")
{
    Monthly store("minute=100 day=1000 month=5", "");
    auto& http = store.http;
    const auto admitted = [&] {
        int count = 0;
        while (http.get("/v1/pets").status == 200 && count < 100) {
            ++count;
        }
        return count;
    };
    const auto admits_at = [&](const char* time) {
        store.clocked.set_time(time);
        return wait_until([&] { return http.get("/v1/pets").status == 200; });
    };
    SECTION("the clock was ahead and was set right")
    {
        REQUIRE(admits_at("2027-05-30 12:00:00"));
        REQUIRE(admits_at("2027-06-02 12:00:00"));
        CHECK(admitted() == 4);
        REQUIRE(admits_at("2027-05-30 12:05:00"));
    }
    SECTION("the clock was set back and right again")
    {
        REQUIRE(admits_at("2027-06-01 00:00:00"));
        REQUIRE(admits_at("2027-05-29 00:00:00"));
        store.clocked.set_time("2027-06-01 01:00:00");
        CHECK(admitted() == 4);
    }
    store.clocked.set_time("2027-06-01 02:00:00");
    expect_error(http.get("/v1/pets"), 429, "rate_limit_exceeded");
    // Also while the account's state is that of May.
    const auto url = store.clocked.redis.url();
    REQUIRE(ctl(url, {"plan", "set", "small", "--per-minute", "100",
                      "--per-day", "1000", "--per-month", "5"})
                .code
            == 0);
    const auto report = [&](std::vector<std::string> command) {
        command.emplace_back("--json");
        return nlohmann::json::parse(ctl(url, command).out);
    };
    CHECK(report({"usage", store.key.account}).at("windows").at(2).at("used")
          == 5);
    CHECK(report({"key", "usage", store.key.id}).at("month").at("used") == 5);
}

TEST_CASE("limits month: a month late in the year is denied until January")
{
    Monthly store("minute=100 day=1000 month=1", "");
    const auto now = store.clocked.set_time("2027-12-01 00:00:00");
    CHECK(store.http.get("/v1/pets").status == 200);
    const auto denied = store.http.get("/v1/pets");
    expect_error(denied, 429, "rate_limit_exceeded");
    const auto end = ClockedRedis::unix_seconds("2028-01-01 00:00:00");
    CHECK(rate_headers_of(denied).reset == end);
    CHECK(number(denied, "retry-after") <= end - now);
    CHECK(number(denied, "retry-after") > end - now - 60);
    // Without petstore_limit_headers, there are the three headers only.
    CHECK_FALSE(denied.has("x-ratelimit-limit-month"));
}

TEST_CASE("limits month: the length of the month in the fields of the draft")
{
    Monthly store("minute=100 day=1000 month=20000",
                  "petstore_limit_headers ietf;");
    const std::regex form(
        R"re("minute";r=\d+;t=\d+, "day";r=\d+;t=\d+, "month";r=(\d+);t=(\d+))re");
    for (const auto& [now, days, left] :
         {std::tuple("2027-02-01 00:00:00", 28, 28 * 86400),
          std::tuple("2027-02-28 12:00:00", 28, 43200),
          std::tuple("2027-04-30 00:00:00", 30, 86400),
          std::tuple("2027-12-31 23:00:00", 31, 3600),
          std::tuple("2028-02-29 00:00:00", 29, 86400)}) {
        INFO(now);
        store.clocked.set_time(now);
        const auto response = store.http.get("/v1/pets");
        REQUIRE(response.status == 200);
        CHECK(
            response.header("ratelimit-policy")
            == "\"minute\";q=100;w=60, \"day\";q=1000;w=86400, \"month\";q=20000;w="
                   + std::to_string(days * 86400));
        const auto text = response.header("ratelimit");
        INFO(text);
        std::smatch found;
        REQUIRE(std::regex_match(text, found, form));
        // One request in each month, two in February 2027.
        CHECK(std::stoll(found[1]) >= 19998);
        CHECK(std::stoll(found[2]) <= left);
        CHECK(std::stoll(found[2]) > left - 60);
    }
    // Without a monthly limit, there is no such policy.
    const auto key = create_key(store.clocked.redis, {"--plan", "free"});
    store.http.use_key(key.secret);
    const auto response = store.http.get("/v1/pets");
    CHECK(response.header("ratelimit-policy")
          == "\"minute\";q=60;w=60, \"day\";q=1000;w=86400");
    CHECK_FALSE(contains(response.header("ratelimit"), "month"));
}

TEST_CASE("limits month: of several violated windows, the one that ends last")
{
    Monthly store("minute=13 day=14 month=15",
                  "petstore_cost 10; petstore_limit_headers windows;");
    for (const auto& [now, limit, window] :
         {std::tuple("2027-02-10 12:00:00", 15, "month"),
          std::tuple("2027-03-31 12:00:00", 14, "day")}) {
        INFO(now);
        store.clocked.set_time(now);
        // The worker may know the new time only after a request.
        Response admitted;
        REQUIRE(wait_until([&] {
            admitted = store.http.get("/v1/pets");
            return admitted.status == 200;
        }));
        CHECK(rate_headers_of(admitted).limit == 13);
        CHECK(rate_headers_of(admitted).remaining == 3);
        const auto denied = store.http.get("/v1/pets");
        const auto message = expect_error(denied, 429, "rate_limit_exceeded");
        CHECK(contains(message, std::to_string(limit) + " requests per "
                                    + window
                                    + ", and this request counts as 10."));
        const auto rate = rate_headers_of(denied);
        CHECK(rate.limit == limit);
        CHECK(rate.remaining == 0);
        CHECK(rate.reset
              == number(denied, std::string("x-ratelimit-reset-") + window));
    }
}

TEST_CASE("limits month: exact over two hosts")
{
    ClockedRedis clocked;
    NginxOptions options;
    options.redis = clocked.redis.url();
    options.http = "petstore_plan small minute=1000000 day=1000000 month=500;";
    const NginxServer first(host_options(options));
    const NginxServer second(host_options(options));
    const auto key = create_key(clocked.redis, {"--plan", "small"});
    clocked.set_time("2027-02-10 12:00:00");
    Storm storm;
    storm.ports = {first.tls_port(), second.tls_port()};
    storm.request = list_request(key.secret);
    const auto answers = storm.run(1000);
    check_exact(answers, 500);
    CHECK(answers.front().reset
          == ClockedRedis::unix_seconds("2027-03-01 00:00:00"));
}
