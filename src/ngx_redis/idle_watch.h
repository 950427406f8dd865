#pragma once

#include "../metrics/redis_counters.h"
#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/command.h"
#include "../redis/idle_check.h"
#include "../redis/pipeline.h"
#include "../redis/replication.h"
#include "node_settings.h"
#include "server_check.h"

namespace petstore::ngx_redis {

// Sends the commands by which a node checks its connection: INFO replication
// for the role, ahead of the first command of each second, and for the
// connection itself after it was idle; PING where INFO is refused. Until an
// idle connection has proved that it still works, commands are held back in the
// pipeline. Its timer also ends an outage after which no command is sent.
class IdleWatch {
public:
    class User {
    public:
        // A check that no command waits for was added: flush the pipeline.
        virtual void on_idle_check() noexcept = 0;

        // The connection was lost, as `how` says. Must close it.
        virtual void on_idle_loss(const char* how) noexcept = 0;

    protected:
        ~User() = default;
    };

    // All must outlive this object.
    IdleWatch(User& user, const NodeSettings& settings,
              redis::Pipeline& pipeline, ServerCheck& server,
              const metrics::RedisMeter& meter, ngx_log_t* log);

    // The command that asks for the role.
    const redis::Command& role_request() const noexcept
    {
        return role_request_;
    }

    // Call when a connection is ready, and when it is closed.
    void begin() noexcept;
    void end() noexcept;

    // Adds the check that must precede the next command, if any, and lets that
    // carry no outdated replication id. False if out of memory.
    bool prepare() noexcept;

    // Takes the reply to a check: to INFO, or to PING where INFO is refused.
    Connection::Failure take_check_reply(const redis::Reply& reply) noexcept;

    // Call for each reply. Returns whether commands were held back.
    bool heard() noexcept;

    // Whether commands are held back, and until when.
    bool holding() const noexcept { return check_.holding(); }
    ngx_msec_t hold_until() const noexcept { return check_.hold_until(); }

    // Whether there is only a check, which no command waits for.
    bool has_only_check() const noexcept
    {
        return check_.checking() && !check_.holding();
    }

    // Whether losing the connection now loses no command.
    bool may_replace() const noexcept
    {
        return !pipeline_.in_doubt() && check_.may_replace(ngx_current_msec);
    }

private:
    bool must_prove() const noexcept;
    bool add() noexcept;
    void on_timer() noexcept;
    void restart() noexcept;

    User& user_;
    const NodeSettings& settings_;
    redis::Pipeline& pipeline_;
    ServerCheck& server_;
    redis::RoleWatch& role_;
    const metrics::RedisMeter& meter_;
    const redis::Command role_request_;
    const redis::Command ping_;
    redis::IdleCheck check_;
    // The timer limits the wait for the reply to a check that it added.
    bool timer_awaits_check_ = false;
    ngx_base::Timer<IdleWatch, &IdleWatch::on_timer> timer_;
};

}  // namespace petstore::ngx_redis
