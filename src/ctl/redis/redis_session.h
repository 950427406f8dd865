#pragma once

#include <string_view>

#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../../store/command_runner.h"

namespace petstore::ctl {

class ClusterSession;

// Commands to the Redis that one option names. Throws Failure with a message
// for the operator.
class RedisSession : public store::CommandRunner {
public:
    virtual ~RedisSession() = default;
    RedisSession(const RedisSession&) = delete;
    RedisSession& operator=(const RedisSession&) = delete;

    const redis::Reply& receive() override;
    const redis::Reply& run(redis::Command command) override;

    // Writes the commands that send() has buffered.
    virtual void flush() = 0;

    // The next reply, even if it is an error. Valid until the next call.
    virtual const redis::Reply& receive_any() = 0;

    // Throws Failure if a server that was named alone is a node of a Cluster:
    // it has only a part of the data.
    void refuse_cluster_node() const;

    // Throws an error reply as Failure.
    void check(const redis::Reply& reply) const;
    void check(const redis::Reply& reply, const redis::Command& command) const;

    // The socket for commands with this key, for setsockopt() only; -1 if there
    // is none.
    virtual int descriptor(std::string_view key) const noexcept = 0;

    // nullptr unless this is a ClusterSession.
    virtual ClusterSession* cluster() noexcept { return nullptr; }
    bool is_cluster() const final
    {
        return const_cast<RedisSession*>(this)->cluster() != nullptr;
    }

protected:
    RedisSession() = default;

    // The server of the last reply.
    virtual const std::string& where() const noexcept = 0;

    virtual bool is_cluster_node() const noexcept { return false; }

private:
    [[noreturn]] void throw_cluster_node() const;
};

}  // namespace petstore::ctl
