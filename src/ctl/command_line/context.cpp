#include "context.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <variant>

#include "../../store/accounts/account_tasks.h"
#include "../../store/plans/plan_administration.h"
#include "../accounts/store_format.h"
#include "../exit.h"

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
    return std::get<redis::Deployment>(std::move(parsed));
}

std::string read_password(const std::string& file, const std::string& option)
{
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text(redis::kMaxPassword + 3, '\0');  // "\r\n" and a byte more
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream && !stream.eof()) {
        throw Failure("cannot read the file of " + option + ": "
                      + std::generic_category().message(errno ? errno : EIO));
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

// Reads the file like petstore_redis_password_file in nginx. Empty if no file
// is given.
std::string password_in(const std::string& file, const std::string& option)
{
    if (!file.empty()) {
        return read_password(file, option);
    }
    const char* const variable = std::getenv("REDISCLI_AUTH");
    return variable ? variable : "";
}

void require_format_2(RedisSession& redis, const store::Schema& schema,
                      const std::string& option)
{
    const auto refuse = [&](const std::string& why) {
        throw Failure("the store in the Redis of " + option + why);
    };
    constexpr char kUpgrade[] =
        ": stop nginx on all hosts and run petstorectl upgrade, see docs/upgrading.md";
    switch (format_of(redis, schema)) {
    case StoreFormat::one:
        return refuse(std::string(" has format 1") + kUpgrade);
    case StoreFormat::upgrading:
        return refuse(std::string(" is only partly upgraded") + kUpgrade);
    case StoreFormat::unknown:
        return refuse(" has a format that this version does not know: "
                      + unknown_format_advice(schema));
    case StoreFormat::two:
        break;
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
    : main_{"--redis",
            checked_deployment(options.redis, "--redis"),
            {options.user,
             password_in(options.password_file,
                         "--password-file or PETSTORE_REDIS_PASSWORD_FILE")},
            nullptr},
      schema_(checked_prefix(options.prefix)), json_(options.json)
{
    limit_redis_ = other(options.limit_redis, "--limit-redis",
                         options.limit_password_file, "--limit-password-file");
    if (limit_redis_ && limit_redis_->deployment == main_.deployment) {
        limit_redis_.reset();
        limit_redis_is_main_ = true;
    }
    target_ = other(options.target, "--to", options.target_password_file,
                    "--to-password-file");
    if (target_ && target_->deployment == main_.deployment) {
        throw UsageError("--to names the same database as --redis");
    }
    if (main_.deployment.tls()
        || (limit_redis_ && limit_redis_->deployment.tls())
        || (target_ && target_->deployment.tls())) {
        tls_.emplace(options.tls);
    } else if (options.tls.any()) {
        // Refuse to open a connection that is less secure than it seems.
        throw UsageError(
            "the TLS options and PETSTORE_REDIS_CA need a rediss:// URL");
    }
}

std::optional<Context::Server>
Context::other(const std::string& text, const std::string& option,
               const std::string& password_file,
               const std::string& file_option) const
{
    if (text.empty()) {
        return std::nullopt;
    }
    auto deployment = checked_deployment(text, option);
    return Server{
        option,
        std::move(deployment),
        {main_.credentials.user, password_file.empty()
                                     ? main_.credentials.password
                                     : password_in(password_file, file_option)},
        nullptr};
}

RedisSession& Context::open(Server& server)
{
    if (server.session) {
        return *server.session;
    }
    auto session = connect(server.deployment, server.credentials,
                           tls_ ? &*tls_ : nullptr, pump_);
    if (!accepts_cluster_nodes_) {
        session->refuse_cluster_node();
    }
    if (!accepts_format_1_) {
        require_format_2(*session, schema_, server.option);
    }
    server.session = std::move(session);
    return *server.session;
}

RedisSession& Context::redis(Access access)
{
    RedisSession& redis = open(main_);
    if (access == Access::change) {
        fence_new_store(redis, schema_);
    }
    return redis;
}

RedisSession* Context::limit_redis()
{
    return limit_redis_ ? &open(*limit_redis_) : nullptr;
}

void Context::require_limit_redis(const char* command) const
{
    if (!limit_redis_) {
        throw UsageError(
            limit_redis_is_main_
                ? "--limit-redis names the same database as --redis"
                : std::string(command) + " needs --limit-redis");
    }
}

RedisSession& Context::target()
{
    return open(*target_);
}

RedisSession& Context::pets(Access access)
{
    LimitsMarker::read(redis(), schema_).refuse_moved();
    return redis(access);
}

store::StoreLinks Context::links(Access access)
{
    limits_place().check(access);
    RedisSession* const limit_redis = this->limit_redis();
    redis::Link& link = redis(access).link();
    return {link, limit_redis != nullptr ? limit_redis->link() : link, schema_};
}

api::UnixTime Context::now(const store::StoreLinks& links)
{
    return await(store::redis_time(links.accounts));
}

store::KnownPlans Context::known_plans()
{
    redis::Link& link = redis().link();
    return await(store::list_plans({link, link, schema_}));
}

}  // namespace petstore::ctl
