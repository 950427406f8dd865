#pragma once

#include <functional>
#include <optional>
#include <string>

#include "../redis/deployment.h"
#include "../store/keys/key_administration.h"
#include "../store/schema.h"
#include "limits_place.h"
#include "redis_session.h"
#include "tls.h"

namespace petstore::ctl {

struct GlobalOptions {
    std::string redis = "redis://127.0.0.1:6379/0";
    std::string limit_redis;          // empty: the same
    std::string password_file;        // empty: REDISCLI_AUTH, if set
    std::string limit_password_file;  // empty: password_file
    TlsOptions tls;
    std::string prefix = "petstore";
    bool json = false;
};

// The global options, and the one or two Redis that they name.
class Context {
public:
    // Throws UsageError, and Failure if a file cannot be read.
    explicit Context(const GlobalOptions& options);

    bool json() const noexcept { return json_; }
    const store::Schema& schema() const noexcept { return schema_; }

    // Connects on the first call, so commands check their arguments first.
    // Throws Failure.
    RedisSession& redis();

    // The Redis of --limit-redis, likewise; nullptr if there is none.
    RedisSession* limits();

    LimitsPlace limits_place() { return {redis(), limits(), schema_}; }

    // Fails if the options do not name the Redis with the limits.
    store::KeyAdministration keys(Access access);

private:
    redis::Deployment deployment_;
    std::string password_;
    std::optional<redis::Deployment> limit_deployment_;
    std::string limit_password_;
    store::Schema schema_;
    bool json_;
    std::optional<Tls> tls_;  // if a deployment uses TLS
    std::optional<RedisSession> redis_;
    std::optional<RedisSession> limits_;
};

using Action = std::function<void(Context&)>;

}  // namespace petstore::ctl
