// docs/limits.md, "What exact means": across all workers of all hosts, exactly
// as many requests are admitted as the plan allows, on a healthy Redis.
#include <algorithm>
#include <map>
#include <set>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

constexpr long long kMany = 100'000'000;

std::set<long long> workers_of(const std::vector<Answer>& answers)
{
    std::set<long long> workers;
    for (const auto& answer : answers) {
        workers.insert(answer.worker);
    }
    return workers;
}

}  // namespace

TEST_CASE(
    "limits exact: the minute of a plan over three hosts with two workers each")
{
    Hosts hosts(3);
    const std::vector<std::pair<std::string, long long>> plans = {
        {"free", 60}, {"pro", 300}, {"business", 1000}};
    for (const auto& [plan, limit] : plans) {
        INFO(plan);
        const auto key = create_key(hosts.redis, {"--plan", plan});
        const auto before = redis_now(hosts.redis);
        const auto answers =
            hosts.storm(key).run(static_cast<std::size_t>(2 * limit));
        const auto after = redis_now(hosts.redis);

        CHECK(answers.size() == static_cast<std::size_t>(2 * limit));
        CHECK(workers_of(answers).size() == 6);
        check_exact(answers, limit);
        for (const auto& answer : refused(answers)) {
            REQUIRE(answer.retry_after >= answer.reset - after - 1);
            REQUIRE(answer.retry_after <= 60);
        }
        CHECK(answers.front().reset >= before + 60);
        CHECK(answers.front().reset <= after + 61);
        // Refused requests are charged to neither window.
        CHECK(used(hosts.redis, key, "minute") == limit);
        CHECK(used(hosts.redis, key, "day") == limit);
    }
}

TEST_CASE("limits exact: the day over three hosts with two workers each")
{
    Hosts hosts(3);
    for (const long long limit : {60, 300, 1000}) {
        INFO(limit);
        const auto key = limited_key(hosts.redis, kMany, limit);
        const auto before = redis_now(hosts.redis);
        const auto answers =
            hosts.storm(key).run(static_cast<std::size_t>(2 * limit));
        check_exact(answers, limit);
        CHECK(answers.front().reset >= before + 86400);
        CHECK(answers.front().reset <= redis_now(hosts.redis) + 86401);
        CHECK(used(hosts.redis, key, "minute") == limit);
        CHECK(used(hosts.redis, key, "day") == limit);
    }
}

TEST_CASE("limits exact: minute and day together")
{
    NginxOptions options;
    options.location = "petstore_ban off;";
    Hosts hosts(3, options);
    const auto key = limited_key(hosts.redis, 200, 300);

    // The minute is used up first, and the requests it refuses are not charged
    // to the day.
    check_exact(hosts.storm(key).run(500), 200);
    CHECK(used(hosts.redis, key, "day") == 200);

    // The minute ends. Of the next minute's 200 requests, the day has 100 left.
    // Workers may still refuse a few from memory.
    end_in(hosts.redis, key, Number::minute_end, 1);
    int refused_by_day = 0;
    const auto answers = hosts.storm(key).run_until([&](const Answer& answer) {
        refused_by_day += answer.status == 429 && answer.limit == 300;
        return refused_by_day >= 500;
    });
    // Remaining is the day's 99 … 0, not the minute's 199 … 100.
    std::vector<long long> remaining;
    for (const auto& answer : admitted(answers)) {
        CHECK(answer.limit == 300);
        remaining.push_back(answer.remaining);
    }
    std::sort(remaining.begin(), remaining.end());
    CHECK(remaining.size() == 100);
    for (std::size_t i = 0; i < remaining.size(); ++i) {
        CHECK(remaining[i] == static_cast<long long>(i));
    }
    CHECK(used(hosts.redis, key, "minute") == 100);
    CHECK(used(hosts.redis, key, "day") == 300);
}

TEST_CASE("limits exact: both windows spent with the same request")
{
    Hosts hosts(3);
    const auto key = limited_key(hosts.redis, 100, 100);
    const auto before = redis_now(hosts.redis);
    const auto answers = hosts.storm(key).run(200);
    check_exact(answers, 100);
    // On a tie, the window that resets later is reported.
    CHECK(answers.front().reset >= before + 86400);
    CHECK(used(hosts.redis, key, "minute") == 100);
    CHECK(used(hosts.redis, key, "day") == 100);
}

TEST_CASE("limits exact: across the end of a window")
{
    NginxOptions options;
    options.location = "petstore_ban off;";
    Hosts hosts(3, options);
    for (const long long limit : {60, 300, 1000}) {
        INFO(limit);
        const auto key = limited_key(hosts.redis, limit);
        // As many requests take much less time than the window has left.
        const auto start = Clock::now();
        hosts.storm(limited_key(hosts.redis, limit))
            .run(static_cast<std::size_t>(limit));
        const auto took = (Clock::now() - start) / 1ms;
        // A window that is about to end and has no used requests.
        end_in(
            hosts.redis, key, Number::minute_end,
            std::clamp<long long>(4 * took, sanitized() ? 4000 : 2000, 55'000));

        std::map<long long, long long> refused_in;
        const auto answers =
            hosts.storm(key).run_until([&](const Answer& answer) {
                if (answer.status == 429) {
                    ++refused_in[answer.reset];
                }
                return refused_in.size() > 1
                       && refused_in.rbegin()->second >= 2 * limit;
            });

        std::map<long long, std::vector<Answer>> windows;
        for (const auto& answer : admitted(answers)) {
            windows[answer.reset].push_back(answer);
        }
        CHECK(windows.size() == 2);
        for (const auto& [reset, window] : windows) {
            INFO(reset);
            check_permutation(window, limit);
        }
        CHECK(refused(answers).size() > static_cast<std::size_t>(2 * limit));
        CHECK(used(hosts.redis, key, "minute") == limit);
        CHECK(used(hosts.redis, key, "day") == 2 * limit);
    }
}

TEST_CASE("limits exact: while one host reloads again and again")
{
    Hosts hosts(3);
    Meanwhile reloading(1ms, [&] { hosts.nginx[1]->reload(); });
    while (reloading.times() < 5) {
        const auto key = limited_key(hosts.redis, 1000);
        check_exact(hosts.storm(key).run(2000), 1000);
        CHECK(used(hosts.redis, key, "day") == 1000);
    }
    reloading.end();
}

TEST_CASE("limits exact: while scripts are flushed every 100 ms")
{
    Hosts hosts(3);
    auto redis = hosts.redis.client();
    Meanwhile flushing(100ms, [&] { redis.command({"SCRIPT", "FLUSH"}); });
    const auto sent_again = [&] { return command_counts(hosts.redis)["eval"]; };
    // How many flushes meet a request depends on the machine.
    while (flushing.times() < 10
           || (sent_again() <= 5 && flushing.times() < 100)) {
        const auto key = limited_key(hosts.redis, 1000);
        check_exact(hosts.storm(key).run(2000), 1000);
        CHECK(used(hosts.redis, key, "day") == 1000);
    }
    flushing.end();
    // The flushes had an effect.
    CHECK(sent_again() > 5);
}

TEST_CASE("limits exact: with hosts whose clocks are an hour off")
{
    if (sanitized()) {
        return;  // AddressSanitizer does not share LD_PRELOAD
    }
    Hosts hosts(1);
    for (const char* offset : {"+3600", "-3600"}) {
        NginxOptions options = host_options({});
        options.env = clock_off_by(offset);
        options.redis = hosts.redis.url();
        hosts.nginx.push_back(std::make_unique<NginxServer>(options));
    }

    for (const long long limit : {60, 300, 1000}) {
        INFO(limit);
        const auto key = limited_key(hosts.redis, limit);
        const auto before = redis_now(hosts.redis);
        const auto answers =
            hosts.storm(key).run(static_cast<std::size_t>(2 * limit));
        const auto after = redis_now(hosts.redis);
        check_exact(answers, limit);
        CHECK(workers_of(answers).size() == 6);
        for (const auto& answer : answers) {
            REQUIRE(answer.reset >= before + 60);
            REQUIRE(answer.reset <= after + 61);
            if (answer.status == 429) {
                REQUIRE(answer.retry_after >= answer.reset - after - 1);
                REQUIRE(answer.retry_after <= 60);
            }
        }
    }
    // The clocks really differ.
    std::set<std::string> hours;
    for (const auto& host : hosts.nginx) {
        hours.insert(Http(host->url())
                         .request("OPTIONS", "/v1/pets")
                         .header("date")
                         .substr(17, 2));
    }
    CHECK(hours.size() == 3);
}

TEST_CASE(
    "limits exact: a damaged account is refused, others beside it are not")
{
    NginxOptions options;
    options.location = "petstore_ban off;";
    Store store(options);
    const auto key = limited_key(store.redis, 10);
    const auto other = limited_key(store.redis, 1000);
    Http good(store.nginx.url(), other.secret);
    Http bad(store.nginx.url(), key.secret);
    CHECK(bad.get("/v1/pets").status == 200);
    const auto name = account_key(key, "state");
    for (const std::string damage : {"", "nonsense", "list"}) {
        INFO(damage);
        store.redis.command({"DEL", name});
        if (damage == "list") {
            store.redis.command({"RPUSH", name, "x"});
        } else {
            store.redis.command({"SET", name, damage});
        }
        std::atomic<bool> over{false};
        std::thread storm([&] {
            for (int asked = 0; !over || asked < 20; ++asked) {
                bad.get("/v1/pets");
            }
        });
        for (int i = 0; i < 100; ++i) {
            CHECK(good.get("/v1/pets").status == 200);
        }
        over = true;
        storm.join();
        expect_error(bad.get("/v1/pets"), 500, "internal_error");
        CHECK(contains(store.nginx.error_log(),
                       "the Redis key " + name + " is damaged"));
    }
    store.redis.command({"DEL", name});
    // Any change by the operator replaces a damaged string.
    REQUIRE(ctl(store.redis.url(), {"key", "set", key.id, "--per-minute", "20"})
                .code
            == 0);
    store.redis.command({"SET", account_key(key, "state"), "x"});
    REQUIRE(ctl(store.redis.url(), {"key", "set", key.id, "--per-minute", "30"})
                .code
            == 0);
    CHECK(wait_until([&] { return bad.get("/v1/pets").status == 200; }));
}
