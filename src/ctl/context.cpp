#include "context.h"

#include <cstdlib>
#include <fstream>
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
    if (deployment.form == redis::Deployment::Form::cluster) {
        throw UsageError("--redis: " + deployment.display()
                         + " is not supported by this version");
    }
    return std::move(deployment);
}

std::string read_password(const std::string& file)
{
    std::ifstream stream(file, std::ios::binary);
    std::string text(redis::kMaxPassword + 3, '\0');  // "\r\n" and a byte more
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream && !stream.eof()) {
        throw Failure("cannot read the file of --password-file");
    }
    text.resize(static_cast<std::size_t>(stream.gcount()));
    const auto password = redis::password_in_file(text);
    if (!password) {
        throw Failure("the first line of the file of --password-file must be a "
                      "password of 1 to "
                      + std::to_string(redis::kMaxPassword) + " bytes");
    }
    return std::string(*password);
}

// As petstore_redis_password_file in nginx. Empty if there is none.
std::string password_of(const GlobalOptions& options)
{
    if (!options.password_file.empty()) {
        return read_password(options.password_file);
    }
    const char* const variable = std::getenv("REDISCLI_AUTH");
    return variable ? variable : "";
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
    : deployment_(checked_deployment(options.redis)),
      password_(password_of(options)), schema_(checked_prefix(options.prefix)),
      json_(options.json)
{
    if (deployment_.tls()) {
        tls_.emplace(options.tls);
    } else if (options.tls.any()) {
        // Rather than a connection that is less protected than it seems.
        throw UsageError("the TLS options need a rediss:// URL");
    }
}

RedisSession& Context::redis()
{
    if (!redis_) {
        redis_.emplace(
            connect(deployment_, password_, tls_ ? &*tls_ : nullptr));
    }
    return *redis_;
}

}  // namespace petstore::ctl
