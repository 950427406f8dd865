#pragma once

#include <functional>
#include <optional>
#include <string>

#include "../store/schema.h"
#include "redis_session.h"

namespace petstore::ctl {

// What a command runs with: the global options, and the Redis they name.
class Context {
public:
    // Throws UsageError.
    Context(const std::string& redis_url, const std::string& prefix, bool json);

    bool json() const noexcept { return json_; }
    const store::Schema& schema() const noexcept { return schema_; }

    // Connects at the first call, after a command has checked its arguments.
    // Throws Failure.
    RedisSession& redis();

private:
    store::Endpoint endpoint_;
    store::Schema schema_;
    bool json_;
    std::optional<RedisSession> redis_;
};

using Action = std::function<void(Context&)>;

}  // namespace petstore::ctl
