#pragma once

#include <functional>
#include <optional>
#include <string>

#include "../redis/deployment.h"
#include "../store/schema.h"
#include "redis_session.h"
#include "tls.h"

namespace petstore::ctl {

struct GlobalOptions {
    std::string redis = "redis://127.0.0.1:6379/0";
    std::string password_file;  // empty: REDISCLI_AUTH, if set
    TlsOptions tls;
    std::string prefix = "petstore";
    bool json = false;
};

// The global options, and the Redis they name.
class Context {
public:
    // Throws UsageError, and Failure if a file cannot be read.
    explicit Context(const GlobalOptions& options);

    bool json() const noexcept { return json_; }
    const store::Schema& schema() const noexcept { return schema_; }

    // Connects on the first call, so commands check their arguments first.
    // Throws Failure.
    RedisSession& redis();

private:
    redis::Deployment deployment_;
    std::string password_;
    store::Schema schema_;
    bool json_;
    std::optional<Tls> tls_;  // if the deployment uses TLS
    std::optional<RedisSession> redis_;
};

using Action = std::function<void(Context&)>;

}  // namespace petstore::ctl
