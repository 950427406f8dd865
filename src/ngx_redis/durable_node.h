#pragma once

#include <memory>

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/durable_link.h"
#include "event_loop_alarm.h"
#include "node.h"
#include "node_settings.h"

namespace petstore::ngx_redis {

// A worker's second connection to a Redis, for writes that wait until they are
// durable. Owned by the Worker.
class DurableNode final : private redis::DurableLink::Owner {
public:
    // `scheduler` and `meter` must outlive the node.
    DurableNode(const NodeSettings& settings,
                std::unique_ptr<AddressSource> source,
                redis::Durability durability, redis::Scheduler& scheduler,
                metrics::RedisMeter meter, const ngx_log_t& log);
    DurableNode(const DurableNode&) = delete;

    redis::Link& link() noexcept { return link_; }

    void warm_up() noexcept { link_.warm_up(); }

    // See Node::close().
    void close() noexcept { node_.close(); }

private:
    void unsupported(const char* command,
                     const redis::Reply& error) noexcept override;
    void supported_again() noexcept override;
    void not_reached(std::size_t commands) noexcept override;
    void queue_full() noexcept override;

    const NodeSettings settings_;
    const metrics::RedisMeter meter_;
    NodeLog log_;
    Node node_;
    EventLoopAlarm alarm_;
    redis::DurableLink link_;
    std::size_t not_reached_ = 0;  // since the last log line
    ngx_base::OncePerSecond not_reached_lines_;
};

}  // namespace petstore::ngx_redis
