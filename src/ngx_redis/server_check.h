#pragma once

#include <optional>

#include "../redis/command.h"
#include "../redis/server_id.h"
#include "address_source.h"
#include "node_settings.h"

namespace petstore::ngx_redis {

// Whether the server that a node is connected to is the one that is meant:
// another one may have taken over its address. Known in a Cluster and behind
// Sentinels; elsewhere only the address matters.
class ServerCheck {
public:
    // Both must outlive this object.
    ServerCheck(const NodeSettings& settings, const AddressSource& source)
        : settings_(settings), source_(source)
    {
        if (settings.redirects) {
            request_ = redis::node_id_request();
        } else if (settings.sentinels) {
            request_ = redis::run_id_request();
        }
    }

    // The command that asks the server who it is; nullptr if there is none.
    const redis::Command* request() const noexcept
    {
        return request_ ? &*request_ : nullptr;
    }

    // The reply to it, possibly an error: the server is then unknown.
    void take(const redis::Reply& reply) noexcept
    {
        id_ =
            settings_.redirects ? redis::node_id(reply) : redis::run_id(reply);
    }

    // Whether it is known that another server is meant, as of now.
    bool is_other() const noexcept
    {
        return id_.contradicts(settings_.redirects ? settings_.node_id
                                                   : source_.meant());
    }

private:
    const NodeSettings& settings_;
    const AddressSource& source_;
    std::optional<redis::Command> request_;
    redis::ServerId id_;
};

}  // namespace petstore::ngx_redis
