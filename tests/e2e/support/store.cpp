#include "store.h"

#include <cstdlib>
#include <ctime>

namespace petstore::e2e {

namespace {

Output run_ctl(const std::string& program, const std::string& redis,
               const std::vector<std::string>& arguments,
               const std::string& input)
{
    std::vector<std::string> command{program, "--redis", redis};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command, input);
}

// For set-up: uses the stock petstorectl, which starts much faster than the
// sanitized one.
Output set_up(const RedisServer& redis,
              const std::vector<std::string>& arguments,
              const std::string& input)
{
    return run_ctl(env_or("PETSTORE_E2E_CTL", E2E_CTL), redis.url(), arguments,
                   input);
}

bool has_option(const std::vector<std::string>& arguments, const char* name)
{
    for (const auto& argument : arguments) {
        if (argument == name) {
            return true;
        }
    }
    return false;
}

Key make_key(const RedisServer& redis, std::vector<std::string> command,
             const std::vector<std::string>& arguments, std::string secret)
{
    command.insert(command.end(), arguments.begin(), arguments.end());
    if (!has_option(arguments, "--plan") && !has_option(arguments, "--account")
        && !has_option(arguments, "--external-id")) {
        for (const char* word : {"--plan", "enterprise", "--per-minute",
                                 "1000000", "--per-day", "100000000"}) {
            command.push_back(word);
        }
    }
    command.push_back("--json");
    const auto result =
        set_up(redis, command, secret.empty() ? "" : secret + "\n");
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    if (result.code != 0 || !json.is_object()) {
        throw HarnessError("petstorectl: " + result.err + result.out);
    }
    if (secret.empty()) {
        secret = json.at("key");
        remember_secret(secret);
    }
    return {secret, json.at("id"), json.at("account")};
}

NginxOptions with_redis(NginxOptions options, const RedisServer& redis)
{
    if (options.redis.empty()) {
        options.redis = redis.url();
    }
    return options;
}

}  // namespace

std::string ctl_binary()
{
    return env_or("PETSTORE_E2E_CTL",
                  sanitized() ? E2E_CTL_SANITIZED : E2E_CTL);
}

Output ctl(const std::string& redis, std::vector<std::string> arguments,
           const std::string& input)
{
    return run_ctl(ctl_binary(), redis, arguments, input);
}

Key create_key(const RedisServer& redis, std::vector<std::string> arguments)
{
    return make_key(redis, {"key", "create"}, arguments, "");
}

Key import_key(const RedisServer& redis, const std::string& secret,
               std::vector<std::string> arguments)
{
    remember_secret(secret);
    return make_key(redis, {"key", "import", "-"}, arguments, secret);
}

void import_pets(const RedisServer& redis, int count)
{
    static const char* const statuses[] = {"available", "pending", "sold"};
    std::string lines;
    for (int i = 1; i <= count; ++i) {
        lines += "{\"name\":\"pet " + std::to_string(i)
                 + "\",\"categoryId\":" + std::to_string(i * 10)
                 + ",\"status\":\"" + statuses[(i - 1) % 3] + "\"}\n";
    }
    const auto result = set_up(redis, {"pet", "import", "-"}, lines);
    if (result.code != 0) {
        throw HarnessError("petstorectl: " + result.err);
    }
}

Store::Store(NginxOptions options)
    : key(create_key(redis)), nginx(with_redis(std::move(options), redis)),
      http(nginx.url(), key.secret)
{}

std::string Store::head(const std::string& request_line,
                        const std::string& more) const
{
    return request_line + "\r\nHost: localhost\r\nAuthorization: Bearer "
           + key.secret + "\r\n" + more + "\r\n";
}

long long redis_clock_ahead = 0;

RateHeaders rate_headers_of(const Response& response)
{
    auto number = [&](const char* name) {
        const auto text = response.header(name);
        INFO(name << ": " << text);
        CHECK_FALSE(text.empty());
        CHECK(text.find_first_not_of("0123456789") == std::string::npos);
        return std::atoll(text.c_str());
    };
    const RateHeaders rate{number("x-ratelimit-limit"),
                           number("x-ratelimit-remaining"),
                           number("x-ratelimit-reset")};
    CHECK(rate.remaining <= rate.limit);
    const auto now = unix_time() + redis_clock_ahead;
    const std::time_t reset = rate.reset;
    std::tm utc{};
    gmtime_r(&reset, &utc);
    const bool ends_month = utc.tm_mday == 1 && reset % 86400 == 0;
    // At most the day window's or the end of a month, or just past.
    CHECK(rate.reset >= now - 1);
    CHECK(rate.reset <= now + (ends_month ? 31 * 86400 : 86401));
    return rate;
}

std::string expect_error(const Response& response, int status,
                         const std::string& code)
{
    INFO(response.body);
    CHECK(response.status == status);
    CHECK(response.header("content-type") == "application/json");
    CHECK(response.header("cache-control") == "no-store");
    rate_headers_of(response);
    const auto json = response.json();
    CHECK(json.is_object());
    if (!json.is_object()) {
        return "";
    }
    CHECK(json.size() == 3);
    CHECK((json.contains("code") && json["code"] == code));
    CHECK((json.contains("status") && json["status"] == status));
    CHECK((json.contains("message") && json["message"].is_string()));
    const std::string message =
        json.contains("message") ? json["message"].get<std::string>() : "";
    CHECK_FALSE(message.empty());
    for (const auto& secret : secrets()) {
        CHECK_FALSE(contains(response.body, secret));
    }
    return message;
}

void expect_json(const Response& response, int status, const std::string& body)
{
    CHECK(response.status == status);
    CHECK(response.header("content-type") == "application/json");
    CHECK(response.header("cache-control") == "no-store");
    rate_headers_of(response);
    CHECK(response.body == body);
}

std::string pet_json(long long id, const std::string& name,
                     const std::string& category, const std::string& status)
{
    return "{\"id\":" + std::to_string(id) + ",\"name\":\"" + name
           + "\",\"categoryId\":" + category + ",\"status\":\"" + status
           + "\"}";
}

}  // namespace petstore::e2e
