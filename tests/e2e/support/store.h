#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "fake_redis.h"
#include "http.h"
#include "nginx_server.h"
#include "raw_client.h"
#include "redis_server.h"

namespace petstore::e2e {

std::string ctl_binary();

// petstorectl against this Redis; `redis` is a URL.
Output ctl(const std::string& redis, std::vector<std::string> arguments,
           const std::string& input = "");

struct Key {
    std::string secret;
    std::string id;
    std::string account;
};

// By petstorectl key create. Without arguments the key may ask as often as it
// likes.
Key create_key(const RedisServer& redis,
               std::vector<std::string> arguments = {});

// By petstorectl key import.
Key import_key(const RedisServer& redis, const std::string& secret,
               std::vector<std::string> arguments = {});

// Pets "pet 1", "pet 2" … by petstorectl pet import; categoryId is the number
// times ten, status goes around.
void import_pets(const RedisServer& redis, int count);

// What most tests start from: Redis, nginx, a key, a client with that key.
struct Store {
    explicit Store(NginxOptions options = {});

    RedisServer redis;
    Key key;
    NginxServer nginx;
    Http http;

    Http client() const { return Http(nginx.url(), key.secret); }
    // The head of a request with this key, for RawClient.
    std::string head(const std::string& request_line,
                     const std::string& more = "") const;
};

// The three numbers that every answer of the service carries.
struct RateHeaders {
    long long limit = -1;
    long long remaining = -1;
    long long reset = -1;  // Unix seconds
};
RateHeaders rate_headers_of(
    const Response& response);  // checks that they are there and sane

// An Error in every respect: status, JSON type, exactly three members that
// agree with the status, rate headers, no-store. Checks, and returns the
// message.
std::string expect_error(const Response& response, int status,
                         const std::string& code);

// This status with exactly this body, and all headers that belong to it.
void expect_json(const Response& response, int status, const std::string& body);

// The JSON text of a pet as the service writes it.
std::string pet_json(long long id, const std::string& name,
                     const std::string& category, const std::string& status);

}  // namespace petstore::e2e
