#pragma once

#include <functional>
#include <optional>
#include <string>

#include "../redis/deployment.h"
#include "../store/schema.h"
#include "redis_session.h"

namespace petstore::ctl {

// The global options, and the Redis they name.
class Context {
public:
    // Throws UsageError.
    Context(const std::string& redis_url, const std::string& prefix, bool json);

    bool json() const noexcept { return json_; }
    const store::Schema& schema() const noexcept { return schema_; }

    // Connects on the first call, so commands check their arguments first.
    // Throws Failure.
    RedisSession& redis();

private:
    redis::Deployment deployment_;
    store::Schema schema_;
    bool json_;
    std::optional<RedisSession> redis_;
};

using Action = std::function<void(Context&)>;

}  // namespace petstore::ctl
