#pragma once

#include <string>
#include <utility>

#include "redis_session.h"
#include "server_connect.h"

namespace petstore::ctl {

// Commands over one open connection.
class ServerSession final : public RedisSession {
public:
    explicit ServerSession(OpenConnection open)
        : where_(std::move(open.where)),
          connection_(std::move(open.connection)),
          is_cluster_node_(open.is_cluster_node)
    {}

    void send(const redis::Command& command) override
    {
        connection_.append(command);
    }
    void flush() override;
    const redis::Reply& receive_any() override;
    void each_server(const Visit& visit) override { visit(*this); }

    int descriptor(std::string_view /*key*/) const noexcept override
    {
        return connection_.descriptor();
    }

private:
    template <typename Use>
    decltype(auto) use(Use&& use);

    const std::string& where() const noexcept override { return where_; }
    bool is_cluster_node() const noexcept override { return is_cluster_node_; }

    std::string where_;
    redis::BlockingConnection connection_;
    const bool is_cluster_node_;
};

}  // namespace petstore::ctl
