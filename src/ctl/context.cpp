#include "context.h"

#include <variant>

#include "exit.h"

namespace petstore::ctl {

namespace {

redis::Deployment checked_deployment(const std::string& text)
{
    auto parsed = redis::parse_deployment(text);
    if (const auto* problem = std::get_if<redis::DeploymentProblem>(&parsed)) {
        throw UsageError(problem->url.empty() ? "--redis " + problem->reason
                                              : "--redis: " + problem->reason);
    }
    auto& deployment = std::get<redis::Deployment>(parsed);
    if (deployment.form != redis::Deployment::Form::standalone) {
        throw UsageError("--redis: " + deployment.display()
                         + " is not supported by this version");
    }
    return std::move(deployment);
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
    : deployment_(checked_deployment(redis_url)),
      schema_(checked_prefix(prefix)), json_(json)
{}

RedisSession& Context::redis()
{
    if (!redis_) {
        redis_.emplace(deployment_.endpoints.front());
    }
    return *redis_;
}

}  // namespace petstore::ctl
