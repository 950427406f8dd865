#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "chaos/fake_redis.h"
#include "http.h"
#include "nginx_server.h"
#include "raw_client.h"
#include "redis_server.h"

namespace petstore::e2e {

std::string ctl_binary();

// Runs petstorectl on this Redis; `redis` is a URL.
Output ctl(const std::string& redis, std::vector<std::string> arguments,
           const std::string& input = "");

struct Key {
    std::string secret;
    std::string id;
    std::string account;
};

// Runs petstorectl key create. Without a plan or an account among the arguments
// the key is not limited.
Key create_key(const RedisServer& redis,
               std::vector<std::string> arguments = {});

// Runs petstorectl key import.
Key import_key(const RedisServer& redis, const std::string& secret,
               std::vector<std::string> arguments = {});

// Imports "pet 1", "pet 2" … with petstorectl; categoryId is the number times
// ten, and the statuses alternate.
void import_pets(const RedisServer& redis, int count);

// The usual set-up: Redis, nginx, a key, and a client with that key.
struct Store {
    explicit Store(NginxOptions options = {});

    RedisServer redis;
    Key key;
    NginxServer nginx;
    Http http;

    Http client() const { return Http(nginx.url(), key.secret); }
    // The head of a request with the store's key, for RawClient.
    std::string head(const std::string& request_line,
                     const std::string& more = "") const;
};

// The rate headers that every response of the service has.
struct RateHeaders {
    long long limit = -1;
    long long remaining = -1;
    long long reset = -1;  // Unix seconds
};
// Checks that they are present and plausible by Redis's clock, which is that
// many seconds ahead of the true time.
extern long long redis_clock_ahead;
RateHeaders rate_headers_of(const Response& response);

// Checks every aspect of an Error: status, JSON type, exactly three consistent
// members, rate headers, no-store. Returns the message.
std::string expect_error(const Response& response, int status,
                         const std::string& code);

// Checks the status, the exact body, and all its headers.
void expect_json(const Response& response, int status, const std::string& body);

// The JSON text of a pet as the service writes it.
std::string pet_json(long long id, const std::string& name,
                     const std::string& category, const std::string& status);

}  // namespace petstore::e2e
