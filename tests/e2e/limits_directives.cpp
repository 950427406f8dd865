// docs/directives.md: the rate-limit directives.
#include <algorithm>
#include <regex>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

Response last_of(Http& http, int requests)
{
    Response response;
    for (int i = 0; i < requests; ++i) {
        response = http.get("/v1/pets");
    }
    return response;
}

// The line of nginx.conf that `nginx -t` reports, or -1 if there is no error.
int line_of_error(const std::string& http)
{
    NginxOptions options;
    options.redis = "redis://127.0.0.1:6379";
    options.http = http;
    const auto result = NginxServer::check(options);
    INFO(http << "\n" << result.err);
    CHECK(result.code == 1);
    std::smatch found;
    static const std::regex place(
        R"(\[emerg\][^\n]* in [^\n]*/nginx\.conf:(\d+))");
    return std::regex_search(result.err, found, place) ? std::stoi(found[1])
                                                       : -1;
}

}  // namespace

TEST_CASE("limits directives: a wrong value is reported with its line")
{
    const int first = line_of_error("petstore_plan gold;");
    REQUIRE(first > 1);
    for (const char* wrong : {
             "petstore_plan;",
             "petstore_plan gold minute=5;",
             "petstore_plan gold day=5;",
             "petstore_plan gold minute=5 minute=5;",
             "petstore_plan gold minute=5 day=5 hour=5;",
             "petstore_plan gold minute=-5 day=5;",
             "petstore_plan gold minute=5 day=0;",
             "petstore_plan gold minute=5 day=1.5;",
             "petstore_plan gold minute=5 day=;",
             "petstore_plan gold minute=1000000000001 day=5;",
             "petstore_plan gold minute=5 day=99999999999999999999;",
             "petstore_plan Gold minute=5 day=5;",
             "petstore_plan \"\" minute=5 day=5;",
             "petstore_plan \"go ld\" minute=5 day=5;",
             "petstore_ban;",
             "petstore_ban on off;",
             "petstore_ban off threshold=5;",
             "petstore_ban threshold;",
             "petstore_ban threshold=;",
             "petstore_ban threshold=-1;",
             "petstore_ban threshold=1m;",
             "petstore_ban window=0;",
             "petstore_ban window=1y;",
             "petstore_ban window=2d;",
             "petstore_ban duration=0s;",
             "petstore_ban max=0;",
             "petstore_ban duration=10m max=5m;",
             "petstore_ban off; petstore_ban off;",
             "petstore_anonymous_limit;",
             "petstore_anonymous_limit -1;",
             "petstore_anonymous_limit 1k;",
             "petstore_anonymous_limit 99999999999;",
             "petstore_anonymous_limit 5 Enforce;",
             "petstore_anonymous_limit 5 enforce enforce;",
             "petstore_anonymous_limit 5; petstore_anonymous_limit 6;",
             "petstore_limit_headers;",
             "petstore_limit_headers standard ietf;",
             "petstore_limit_headers ietf; petstore_limit_headers ietf;",
             "petstore_limit_dry_run;",
             "petstore_limit_dry_run maybe;",
             "petstore_zone 1;",
         }) {
        // Not the last line of the block or the file.
        CHECK(line_of_error("\n\n\n" + std::string(wrong) + "\n\n")
              == first + 3);
    }
}

TEST_CASE("limits directives: ban parameters apply to their own location")
{
    NginxOptions options;
    options.http = "petstore_ban threshold=3 duration=7s max=9s;";
    options.server = R"(
        location /own/v1/ { petstore /own/v1; petstore_ban duration=2h; }
        location /none/v1/ { petstore /none/v1; petstore_ban off; }
    )";
    Store store(options);
    const auto ban_after = [&](const std::string& base, int most) {
        const auto key = limited_key(store.redis, 1);
        Http http(store.nginx.url(), key.secret);
        for (int i = 0; i <= most + 1; ++i) {
            const auto response = http.get(base + "/pets");
            if (code_of(response) == "api_key_banned") {
                return std::make_pair(i - 1, number(response, "retry-after"));
            }
        }
        return std::make_pair(-1, -1LL);
    };
    // One request is admitted and three are refused before the ban.
    CHECK(ban_after("/v1", 200) == std::make_pair(3, 7LL));
    // A directive replaces the inherited one completely. The default of max
    // never shortens a first ban.
    CHECK(ban_after("/own/v1", 200) == std::make_pair(100, 7200LL));
    CHECK(ban_after("/none/v1", 200).first == -1);
}

TEST_CASE("limits directives: plans are changed and added")
{
    NginxOptions options;
    options.http =
        "petstore_plan pro minute=7 day=70;petstore_plan gold-2 minute=3 day=1000000000000;";
    Store store(options);
    struct Case {
        std::vector<std::string> arguments;
        long long minute;
        long long day;
    };
    for (const auto& [arguments, minute, day] : {
             Case{{"--plan", "free"}, 60, 1000},
             Case{{"--plan", "pro"}, 7, 70},
             Case{{"--plan", "business"}, 1000, 100000},
             Case{{"--plan", "gold-2"}, 3, 1000000000000},
             Case{{"--plan", "nobody-defined-this"}, 60, 1000},
             // A key's own limits override the plan's individually.
             Case{{"--plan", "pro", "--per-minute", "5"}, 5, 70},
             Case{{"--plan", "pro", "--per-day", "6"}, 7, 6},
             Case{{"--plan", "free", "--per-minute", "2000", "--per-day",
                   "3000"},
                  2000,
                  3000},
         }) {
        INFO(arguments[1]);
        const auto key = create_key(store.redis, arguments);
        Http http(store.nginx.url(), key.secret);
        const auto tightest = std::min(minute, day);
        const auto rate = rate_headers_of(http.get("/v1/pets"));
        CHECK(rate.limit == tightest);
        CHECK(rate.remaining == tightest - 1);
        // The day's limit is reported when it has less left.
        set_number(store.redis, key, Number::day, day - 2);
        const auto of_day = rate_headers_of(http.get("/v1/pets"));
        CHECK(of_day.limit == day);
        CHECK(of_day.remaining == 1);
    }
    // A reload changes the plan, and used requests stay used.
    const auto key = create_key(store.redis, {"--plan", "pro"});
    Http http(store.nginx.url(), key.secret);
    CHECK(rate_headers_of(last_of(http, 8)).limit == 7);
    CHECK(http.get("/v1/pets").status == 429);
    options.redis = store.redis.url();
    options.http = "petstore_plan pro minute=10 day=70;";
    store.nginx.change(options);
    http.close();
    store.nginx.reload_and_settle();
    CHECK(rate_headers_of(http.get("/v1/pets")).remaining == 2);
}

TEST_CASE("limits directives: both windows in headers of their own")
{
    NginxOptions options;
    options.http = "petstore_limit_headers windows; petstore_ban threshold=5;";
    Store store(options);
    const auto key = limited_key(store.redis, 3, 100);
    Http http(store.nginx.url(), key.secret);
    const auto check = [&](const Response& response, long long minute,
                           long long day) {
        const auto rate = rate_headers_of(response);
        const auto now = redis_now(store.redis);
        CHECK(number(response, "x-ratelimit-limit-minute") == 3);
        CHECK(number(response, "x-ratelimit-remaining-minute") == minute);
        const auto minute_reset = number(response, "x-ratelimit-reset-minute");
        CHECK(minute_reset > now + 50);
        CHECK(minute_reset <= now + 61);
        CHECK(number(response, "x-ratelimit-limit-day") == 100);
        CHECK(number(response, "x-ratelimit-remaining-day") == day);
        const auto day_reset = number(response, "x-ratelimit-reset-day");
        CHECK(day_reset > now + 86390);
        CHECK(day_reset <= now + 86401);
        CHECK_FALSE(response.has("ratelimit"));
        return std::make_pair(rate, minute_reset);
    };
    for (int i = 1; i <= 3; ++i) {
        const auto [rate, reset] = check(http.get("/v1/pets"), 3 - i, 100 - i);
        CHECK(rate.remaining == 3 - i);
        CHECK(rate.reset == reset);
    }
    for (int i = 0; i < 5; ++i) {
        const auto response = http.get("/v1/pets");
        CHECK(code_of(response) == "rate_limit_exceeded");
        check(response, 0, 97);
    }
    // During a ban these headers still describe the windows; the three rate
    // headers describe the ban.
    const auto response = http.get("/v1/pets");
    CHECK(code_of(response) == "api_key_banned");
    const auto [rate, reset] = check(response, 0, 97);
    CHECK(rate.reset > reset + 200);
    // Without a key there are no windows.
    CHECK_FALSE(Http(store.nginx.url())
                    .get("/v1/pets")
                    .has("x-ratelimit-limit-minute"));
}

TEST_CASE("limits directives: the fields of the IETF draft")
{
    NginxOptions options;
    options.http = "petstore_limit_headers ietf; petstore_ban threshold=5;";
    Store store(options);
    const auto key = limited_key(store.redis, 3, 100);
    Http http(store.nginx.url(), key.secret);
    const std::regex form(
        R"re("minute";r=(\d+);t=(\d+), "day";r=(\d+);t=(\d+))re");
    const auto check = [&](const Response& response, long long minute,
                           long long day) {
        rate_headers_of(response);
        CHECK(response.header("ratelimit-policy")
              == "\"minute\";q=3;w=60, \"day\";q=100;w=86400");
        const auto text = response.header("ratelimit");
        INFO(text);
        std::smatch found;
        REQUIRE(std::regex_match(text, found, form));
        CHECK(std::stoll(found[1]) == minute);
        CHECK(std::stoll(found[3]) == day);
        // Seconds left by Redis's clock, never more than the window's length.
        const auto minute_left = left(store.redis, key, "minute");
        const auto day_left = left(store.redis, key, "day");
        CHECK(std::stoll(found[2]) * 1000 >= minute_left);
        CHECK(std::stoll(found[2]) <= 60);
        CHECK(std::stoll(found[4]) * 1000 >= day_left);
        CHECK(std::stoll(found[4]) <= 86400);
        return std::stoll(found[2]);
    };
    CHECK(check(http.get("/v1/pets"), 2, 99) == 60);
    // In the middle of the windows, for every kind of response.
    end_in(store.redis, key, Number::minute_end, 31'500);
    end_in(store.redis, key, Number::day_end, 5'000'500);
    const auto rest = check(http.get("/v1/pets/9"), 1, 98);
    CHECK((rest > 20 && rest <= 32));
    check(http.post("/v1/pets", "{"), 0, 97);
    for (int i = 0; i < 5; ++i) {
        const auto response = http.get("/v1/pets");
        expect_error(response, 429, "rate_limit_exceeded");
        CHECK(check(response, 0, 97) == number(response, "retry-after"));
    }
    const auto banned = http.get("/v1/pets");
    expect_error(banned, 429, "api_key_banned");
    CHECK(check(banned, 0, 97) <= 32);
    CHECK_FALSE(Http(store.nginx.url()).get("/v1/pets").has("ratelimit"));
}

TEST_CASE("limits directives: dry run")
{
    NginxOptions options;
    options.http =
        "log_format states '$petstore_limit_status $petstore_limit_remaining'; petstore_ban threshold=5;";
    options.location =
        "petstore_limit_dry_run on; access_log states.log states;";
    options.server = "location /strict/v1/ { petstore /strict/v1; }";
    Store store(options);
    const auto key = limited_key(store.redis, 3);
    Http http(store.nginx.url(), key.secret);
    for (int i = 1; i <= 20; ++i) {
        const auto response = http.get("/v1/pets");
        CHECK(response.status == 200);
        CHECK_FALSE(response.has("retry-after"));
        CHECK(rate_headers_of(response).remaining == std::max(0, 3 - i));
    }
    CHECK(http.post("/v1/pets", "{\"name\":\"x\",\"categoryId\":1}").status
          == 201);
    // Decisions are the same as without dry run: requests over the limit are
    // not counted.
    CHECK(used(store.redis, key, "minute") == 3);

    // In another location the same key is refused and finally banned; here it
    // passes.
    Response strict;
    for (int i = 0; i < 10; ++i) {
        strict = http.get("/strict/v1/pets");
        CHECK(strict.status == 429);
    }
    expect_error(strict, 429, "api_key_banned");
    CHECK(http.get("/v1/pets").status == 200);

    std::vector<std::string> lines;
    CHECK(wait_until([&] {
        lines = split(read_file(store.nginx.path("states.log")), '\n');
        return lines.size() == 22;
    }));
    CHECK(lines[0] == "PASSED 2");
    CHECK(lines[2] == "PASSED 0");
    for (std::size_t i = 3; i < 21; ++i) {
        CHECK(lines[i] == "LIMITED_DRY_RUN 0");
    }
    CHECK(lines.back() == "BANNED_DRY_RUN 0");
    CHECK(count_of(store.nginx.error_log(), "dry run") >= 19);
}

TEST_CASE("limits directives: variables report the outcome of a request")
{
    NginxOptions options;
    options.http = R"(log_format states '$status $petstore_operation '
        '$petstore_key_id $petstore_plan $petstore_limit_status '
        '$petstore_limit_remaining $petstore_error_code $petstore_redis_time';
        petstore_ban threshold=3; petstore_anonymous_limit 2 enforce;)";
    options.location = "access_log states.log states;";
    options.server =
        "location /other { access_log states.log states; return 200 \"\"; }";
    Store store(options);
    const auto key =
        create_key(store.redis, {"--plan", "pro", "--per-minute", "2"});
    Http http(store.nginx.url(), key.secret);
    Http anyone(store.nginx.url());
    std::size_t count = 0;
    const auto logged = [&](const std::string& expected) {
        ++count;
        std::vector<std::string> lines;
        CHECK(wait_until([&] {
            lines = split(read_file(store.nginx.path("states.log")), '\n');
            return lines.size() >= count;
        }));
        INFO(lines.back());
        CHECK(lines.size() == count);
        CHECK(std::regex_match(lines.back(), std::regex(expected)));
    };
    const std::string who = key.id + " pro ";
    const std::string time = R"( \d+\.\d\d\d)";
    // A denial is known for 900 ms, and the machine may stall for longer.
    const std::string maybe = "( -|" + time + ")";
    http.get("/v1/pets");
    logged("200 listPets " + who + "PASSED 1 -" + time);
    http.get("/v1/pets/7");
    logged("404 getPet " + who + "PASSED 0 pet_not_found" + time);
    http.post("/v1/pets", "{}");
    logged("429 createPet " + who + "LIMITED 0 rate_limit_exceeded" + time);
    // Denied from memory, without Redis.
    http.request("DELETE", "/v1/pets");
    logged("429 - " + who + "LIMITED 0 rate_limit_exceeded" + maybe);
    http.get("/v1/nowhere");
    logged("429 - " + who + "LIMITED 0 rate_limit_exceeded" + maybe);
    http.get("/v1/pets");
    logged("429 listPets " + who + "BANNED 0 api_key_banned" + time);
    http.get("/v1/pets");
    logged("429 listPets " + who + "BANNED 0 api_key_banned" + maybe);
    anyone.get("/v1/pets");
    logged("401 listPets - - DENIED 1 missing_api_key -");
    anyone.get("/v1/pets", {{"Authorization", "Bearer nobody"}});
    logged("401 listPets - - DENIED 0 invalid_api_key" + time);
    anyone.get("/v1/pets");
    logged("429 listPets - - LIMITED 0 rate_limit_exceeded -");
    anyone.request("OPTIONS", "/v1/pets");
    logged("204 - - - - 0 - -");
    http.get("/other");
    logged("200 - - - - - - -");
    const auto fresh = create_key(store.redis);
    store.redis.stop();
    http.use_key(fresh.secret);
    http.get("/v1/pets");
    logged("503 listPets - - UNAVAILABLE 0 service_unavailable" + time);
}
