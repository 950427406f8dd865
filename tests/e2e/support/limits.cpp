#include "limits.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>

namespace petstore::e2e {

NginxOptions host_options(NginxOptions options)
{
    const std::string location =
        "add_header X-Worker $pid always; access_log off; "
        "keepalive_requests 100000000; "
        + options.location;
    options.workers = 2;
    options.location = location;
    options.servers += "server { listen %ADDRESS%:%TLS_PORT% reuseport;"
                       + options.server + " location /v1/ { petstore; "
                       + location + " } }";
    return options;
}

Hosts::Hosts(int count, const NginxOptions& options,
             const std::vector<std::string>& redis_config)
    : redis(redis_config)
{
    auto full = host_options(options);
    full.redis = redis.url();
    for (int i = 0; i < count; ++i) {
        nginx.push_back(std::make_unique<NginxServer>(full));
    }
}

std::vector<int> Hosts::ports() const
{
    std::vector<int> ports;
    for (const auto& host : nginx) {
        ports.push_back(host->tls_port());
    }
    return ports;
}

Storm Hosts::storm(const Key& key) const
{
    Storm storm;
    storm.ports = ports();
    storm.connections = 2 * 64;
    storm.request = list_request(key.secret);
    return storm;
}

std::vector<std::pair<std::string, std::string>>
clock_off_by(const std::string& seconds)
{
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::directory_iterator("/usr/lib", ignored)) {
        const auto library =
            entry.path().string() + "/faketime/libfaketime.so.1";
        if (std::filesystem::exists(library, ignored)) {
            // nginx's timers use the monotonic clock, which must not be
            // shifted.
            return {{"LD_PRELOAD", library},
                    {"FAKETIME", seconds},
                    {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}};
        }
    }
    throw HarnessError("Debian's package faketime is missing");
}

std::vector<Http> one_per_worker(const Hosts& hosts)
{
    std::vector<Http> clients;
    for (const auto& host : hosts.nginx) {
        std::set<std::string> workers;
        // OPTIONS is not charged. The worker that accepts a connection is
        // random.
        for (int i = 0; i < 1000 && workers.size() < 2; ++i) {
            Http client(http_url(host->tls_port()));
            const auto answer = client.request("OPTIONS", "/v1/pets");
            if (workers.insert(answer.header("x-worker")).second) {
                clients.push_back(std::move(client));
            }
        }
        if (workers.size() != 2) {
            throw HarnessError("a worker takes no connections");
        }
    }
    return clients;
}

bool within_a_second(std::vector<Http>& clients, const std::string& secret,
                     const std::function<bool(const Response&)>& expected)
{
    const auto deadline = Clock::now() + 1s;
    bool all = true;
    for (auto& client : clients) {
        client.use_key(secret);
        all &=
            kept_by(deadline, [&] { return expected(client.get("/v1/pets")); });
    }
    for (auto& client : clients) {
        all &= expected(client.get("/v1/pets"));
    }
    return all;
}

bool within_a_second(std::vector<Http>& clients, const std::string& secret,
                     int status, const std::string& code)
{
    return within_a_second(clients, secret, [&](const Response& response) {
        return response.status == status && code_of(response) == code;
    });
}

std::string code_of(const Response& response)
{
    const auto json = response.json();
    return response.status >= 400 && json.is_object() ? json.value("code", "")
                                                      : "";
}

std::string list_request(const std::string& secret)
{
    return "GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + secret
           + "\r\n\r\n";
}

Key limited_key(const RedisServer& redis, long long per_minute,
                long long per_day)
{
    return create_key(redis, {"--plan", "enterprise", "--per-minute",
                              std::to_string(per_minute), "--per-day",
                              std::to_string(per_day)});
}

std::string account_key(const Key& key, const std::string& what)
{
    return "petstore:{" + key.account + "}:" + what;
}

long long number_of(const RedisServer& redis, const Key& key, Number number)
{
    const auto state = redis.command({"GET", account_key(key, "state")}).text;
    if (state.empty()) {
        return 0;
    }
    double value = 0;
    REQUIRE(state.size() == 10 * sizeof(value));
    std::memcpy(&value, state.data() + sizeof(value) * static_cast<int>(number),
                sizeof(value));
    return static_cast<long long>(value);
}

void set_number(const RedisServer& redis, const Key& key, Number number,
                long long value)
{
    redis.command(
        {"EVAL",
         "return redis.call('SETRANGE', KEYS[1], ARGV[1] * 8, struct.pack('<d', ARGV[2]))",
         "1", account_key(key, "state"),
         std::to_string(static_cast<int>(number)), std::to_string(value)});
}

void end_in(const RedisServer& redis, const Key& key, Number end,
            long long milliseconds)
{
    set_number(redis, key, end, redis_millis(redis) + milliseconds);
}

long long used(const RedisServer& redis, const Key& key,
               const std::string& what)
{
    if (what == "minute" || what == "day") {
        return left(redis, key, what) < 0
                   ? 0
                   : number_of(redis, key,
                               what == "day" ? Number::day : Number::minute);
    }
    const auto value = redis.command({"GET", account_key(key, what)});
    return value.type == Value::Type::text ? std::stoll(value.text) : 0;
}

long long left(const RedisServer& redis, const Key& key,
               const std::string& what)
{
    if (what == "minute" || what == "day") {
        const auto end = number_of(
            redis, key, what == "day" ? Number::day_end : Number::minute_end);
        const auto now = redis_millis(redis);
        return end > now ? end - now : -2;
    }
    return redis.command({"PTTL", account_key(key, what)}).integer;
}

long long usage_of(const RedisServer& redis, const Key& key)
{
    long long units = number_of(redis, key, Number::month)
                      - number_of(redis, key, Number::month_base);
    const auto names =
        redis.command({"KEYS", account_key(key, "usage:*")}).items;
    for (const auto& name : names) {
        const auto fields = redis.command({"HGETALL", name.text}).items;
        for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
            units +=
                fields[i].text.size() == 2 ? std::stoll(fields[i + 1].text) : 0;
        }
    }
    return units;
}

long long redis_millis(const RedisServer& redis)
{
    const auto time = redis.command({"TIME"});
    return std::stoll(time.items.at(0).text) * 1000
           + std::stoll(time.items.at(1).text) / 1000;
}

std::map<std::string, long long> command_counts(const RedisServer& redis)
{
    std::map<std::string, long long> counts;
    const auto text = redis.command({"INFO", "commandstats"}).text;
    for (const auto& line : split(text, '\n')) {
        // cmdstat_get:calls=21,usec=175,…
        const auto colon = line.find(":calls=");
        if (line.rfind("cmdstat_", 0) == 0 && colon != std::string::npos) {
            counts[line.substr(8, colon - 8)] =
                std::stoll(line.substr(colon + 7));
        }
    }
    return counts;
}

long long redis_now(const RedisServer& redis)
{
    return std::stoll(redis.command({"TIME"}).items.at(0).text);
}

std::string month_text(long long time)
{
    const auto seconds = static_cast<std::time_t>(time);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char text[8];
    std::strftime(text, sizeof(text), "%Y%m", &utc);
    return text;
}

long long number(const Response& response, const std::string& name)
{
    const auto text = response.header(name);
    INFO(name << ": " << text);
    const bool good =
        !text.empty()
        && text.find_first_not_of("0123456789") == std::string::npos;
    CHECK(good);
    return good ? std::stoll(text) : -1;
}

std::size_t count_of(const std::string& text, const std::string& part)
{
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos;
         at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

std::vector<Answer> admitted(const std::vector<Answer>& answers)
{
    std::vector<Answer> found;
    for (const auto& answer : answers) {
        if (answer.status == 200) {
            found.push_back(answer);
        } else if (answer.status != 429) {
            FAIL_CHECK("a storm was answered with " << answer.status << " "
                                                    << answer.code);
        }
    }
    return found;
}

std::vector<Answer> refused(const std::vector<Answer>& answers,
                            const std::string& code)
{
    std::vector<Answer> found;
    for (const auto& answer : answers) {
        if (answer.status == 429) {
            if (answer.code != code) {
                FAIL_CHECK("refused with " << answer.code);
            }
            found.push_back(answer);
        }
    }
    return found;
}

void check_permutation(const std::vector<Answer>& answers, long long limit)
{
    std::vector<long long> remaining;
    std::set<long long> limits;
    std::set<long long> resets;
    for (const auto& answer : answers) {
        remaining.push_back(answer.remaining);
        limits.insert(answer.limit);
        resets.insert(answer.reset);
    }
    std::sort(remaining.begin(), remaining.end());
    std::vector<long long> expected;
    for (long long i = 0; i < limit; ++i) {
        expected.push_back(i);
    }
    CHECK(remaining == expected);
    CHECK(limits == std::set<long long>{limit});
    CHECK(resets.size() == 1);
}

void check_exact(const std::vector<Answer>& answers, long long limit)
{
    const auto good = admitted(answers);
    check_permutation(good, limit);
    if (good.empty()) {
        return;
    }
    const auto& first = good.front();
    std::size_t wrong = 0;
    for (const auto& answer : refused(answers)) {
        wrong += answer.remaining != 0 || answer.limit != first.limit
                 || answer.reset != first.reset || answer.retry_after < 1;
    }
    CHECK(wrong == 0);
}

}  // namespace petstore::e2e
