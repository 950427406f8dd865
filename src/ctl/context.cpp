#include "context.h"

#include <cstdlib>
#include <fstream>
#include <variant>

#include "exit.h"

namespace petstore::ctl {

namespace {

redis::Deployment checked_deployment(const std::string& text,
                                     const std::string& option)
{
    auto parsed = redis::parse_deployment(text);
    if (const auto* problem = std::get_if<redis::DeploymentProblem>(&parsed)) {
        throw UsageError(option + (problem->url.empty() ? " " : ": ")
                         + problem->reason);
    }
    auto& deployment = std::get<redis::Deployment>(parsed);
    if (deployment.form != redis::Deployment::Form::standalone) {
        throw UsageError(option + ": " + deployment.display()
                         + " is not supported by this version");
    }
    return std::move(deployment);
}

std::string read_password(const std::string& file, const std::string& option)
{
    std::ifstream stream(file, std::ios::binary);
    std::string text(redis::kMaxPassword + 3, '\0');  // "\r\n" and a byte more
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream && !stream.eof()) {
        throw Failure("cannot read the file of " + option);
    }
    text.resize(static_cast<std::size_t>(stream.gcount()));
    const auto password = redis::password_in_file(text);
    if (!password) {
        throw Failure("the first line of the file of " + option
                      + " must be a password of 1 to "
                      + std::to_string(redis::kMaxPassword) + " bytes");
    }
    return std::string(*password);
}

// For URLs without a password, as petstore_redis_password_file in nginx.
void add_password(redis::Deployment& deployment, const std::string& file,
                  const std::string& option)
{
    const char* const variable = std::getenv("REDISCLI_AUTH");
    const std::string password = !file.empty() ? read_password(file, option)
                                 : variable    ? variable
                                               : "";
    for (redis::Endpoint& endpoint : deployment.endpoints) {
        if (endpoint.password.empty()) {
            endpoint.password = password;
        }
    }
}

const std::string& checked_prefix(const std::string& prefix)
{
    if (const char* wrong = store::Schema::prefix_problem(prefix)) {
        throw UsageError(std::string("--prefix ") + wrong);
    }
    return prefix;
}

}  // namespace

Context::Context(const GlobalOptions& options)
    : deployment_(checked_deployment(options.redis, "--redis")),
      schema_(checked_prefix(options.prefix)), json_(options.json)
{
    add_password(deployment_, options.password_file, "--password-file");
    if (options.limit_redis.empty()) {
        return;
    }
    auto limits = checked_deployment(options.limit_redis, "--limit-redis");
    const bool own = !options.limit_password_file.empty();
    add_password(limits,
                 own ? options.limit_password_file : options.password_file,
                 own ? "--limit-password-file" : "--password-file");
    if (limits != deployment_) {
        limit_deployment_ = std::move(limits);
    }
}

RedisSession& Context::redis()
{
    if (!redis_) {
        redis_.emplace(deployment_.endpoints.front());
    }
    return *redis_;
}

RedisSession* Context::limits()
{
    if (!limit_deployment_) {
        return nullptr;
    }
    if (!limits_) {
        limits_.emplace(limit_deployment_->endpoints.front());
    }
    return &*limits_;
}

store::KeyAdministration Context::keys(Access access)
{
    limits_place().check(access);
    RedisSession* const limits = this->limits();
    return {redis(), limits != nullptr ? *limits : redis(), schema_};
}

}  // namespace petstore::ctl
