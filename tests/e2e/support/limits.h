#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store.h"
#include "storm.h"

namespace petstore::e2e {

// Hosts behind a load balancer: each is an nginx with two workers, and all
// share one Redis. Every response names its worker in X-Worker.
struct Hosts {
    explicit Hosts(int count, const NginxOptions& options = {},
                   const std::vector<std::string>& redis_config = {});

    RedisServer redis;
    std::vector<std::unique_ptr<NginxServer>> nginx;

    // Ports whose connections are spread evenly over the workers (reuseport).
    std::vector<int> ports() const;
    // GET /v1/pets with this key, 64 connections per worker.
    Storm storm(const Key& key) const;
};

// The configuration of such a host; `workers` and `redis` are not changed.
NginxOptions host_options(NginxOptions options);

// The environment of an nginx whose clock is off by `seconds`, using Debian's
// package faketime. Not for the sanitized nginx, which does not support
// LD_PRELOAD.
std::vector<std::pair<std::string, std::string>>
clock_off_by(const std::string& seconds);

// A connection to each worker of each host.
std::vector<Http> one_per_worker(const Hosts& hosts);

// Sends GET /v1/pets with all clients until every response is as expected, and
// then once more. Returns false if a response to a request sent after one
// second is not.
bool within_a_second(std::vector<Http>& clients, const std::string& secret,
                     const std::function<bool(const Response&)>& expected);
// The same for a status and the code of an Error.
bool within_a_second(std::vector<Http>& clients, const std::string& secret,
                     int status, const std::string& code = "");

// The code of an Error, or "" for any other response.
std::string code_of(const Response& response);

// The bytes of GET /v1/pets.
std::string list_request(const std::string& secret);

// A key with its own limits.
Key limited_key(const RedisServer& redis, long long per_minute,
                long long per_day = 100'000'000);

// The keys of an account in Redis, see docs/redis-keys.md.
std::string account_key(const Key& key, const std::string& what);

// The numbers of an account's state.
enum class Number {
    epoch,
    usual_day,
    minute,
    minute_end,
    day,
    day_end,
    month,
    ban_end,
    utc_day,
    month_base
};
long long number_of(const RedisServer& redis, const Key& key, Number number);
void set_number(const RedisServer& redis, const Key& key, Number number,
                long long value);
// Sets the end of a window to `milliseconds` from now.
void end_in(const RedisServer& redis, const Key& key, Number end,
            long long milliseconds);

// The count in "minute", "day", "strikes" or "bans", and the milliseconds for
// which it is still valid: -2 if there is none, as PTTL replies.
long long used(const RedisServer& redis, const Key& key,
               const std::string& what);
long long left(const RedisServer& redis, const Key& key,
               const std::string& what);
// The units in the account's usage and those of its running day.
long long usage_of(const RedisServer& redis, const Key& key);

// Redis's clock in milliseconds.
long long redis_millis(const RedisServer& redis);

// How often Redis executed each command, for clients and scripts.
std::map<std::string, long long> command_counts(const RedisServer& redis);

// Redis's clock in seconds.
long long redis_now(const RedisServer& redis);

// The month of a time in UTC, as in the names of Redis keys: "202611".
std::string month_text(long long time);

// The value of a header that must occur once and be a plain number.
long long number(const Response& response, const std::string& name);

// The number of occurrences of `part` in `text`.
std::size_t count_of(const std::string& text, const std::string& part);

// The admitted responses of a storm; checks that all others are refusals for
// the limit.
std::vector<Answer> admitted(const std::vector<Answer>& answers);
std::vector<Answer> refused(const std::vector<Answer>& answers,
                            const std::string& code = "rate_limit_exceeded");
// Checks that their Remaining, sorted, is 0, 1 … limit - 1, and that all
// describe the same window.
void check_permutation(const std::vector<Answer>& answers, long long limit);
// Checks a whole storm: `limit` requests are admitted as above, and the same
// window refuses all others.
void check_exact(const std::vector<Answer>& answers, long long limit);

}  // namespace petstore::e2e
