#include "context.h"

#include <variant>

#include "exit.h"

namespace petstore::ctl {

namespace {

redis::Endpoint checked_endpoint(const std::string& url)
{
    auto endpoint = redis::parse_endpoint(url);
    if (const auto* wrong = std::get_if<std::string>(&endpoint)) {
        throw UsageError("--redis: " + *wrong);
    }
    return std::get<redis::Endpoint>(std::move(endpoint));
}

const std::string& checked_prefix(const std::string& prefix)
{
    if (const char* wrong = store::Schema::prefix_problem(prefix)) {
        throw UsageError(std::string("--prefix ") + wrong);
    }
    return prefix;
}

}  // namespace

Context::Context(const std::string& redis_url, const std::string& prefix,
                 bool json)
    : endpoint_(checked_endpoint(redis_url)), schema_(checked_prefix(prefix)),
      json_(json)
{}

RedisSession& Context::redis()
{
    if (!redis_) {
        redis_.emplace(endpoint_);
    }
    return *redis_;
}

}  // namespace petstore::ctl
