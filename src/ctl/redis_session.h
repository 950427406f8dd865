#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../redis/command.h"
#include "../redis/reply.h"
#include "../store/command_runner.h"
#include "redis_connect.h"

namespace petstore::ctl {

// Commands over an open connection. Throws Failure with a message for the
// operator.
class RedisSession final : public store::CommandRunner {
public:
    explicit RedisSession(OpenConnection open)
        : where_(std::move(open.where)), connection_(std::move(open.connection))
    {}

    void send(const redis::Command& command) override
    {
        connection_.append(command);
    }
    const redis::Reply& receive() override;
    const redis::Reply& run_script(redis::Command command) override;
    const redis::Reply&
    transaction(const std::vector<redis::Command>& commands) override;

    // The next reply, even if it is an error. Valid until the next call.
    const redis::Reply& receive_any();

    // Throws an error reply as Failure.
    void check(const redis::Reply& reply) const;
    void check(const redis::Reply& reply, const redis::Command& command) const;

    // The socket, for setsockopt() only.
    int descriptor() const noexcept { return connection_.descriptor(); }

private:
    std::string where_;
    redis::BlockingConnection connection_;
};

}  // namespace petstore::ctl
