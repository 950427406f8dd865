#pragma once

#include <string>

#include "server_id.h"

namespace petstore::redis {

// A server's address as reported by Sentinels or by other servers of its
// Cluster.
struct ServerAddress {
    std::string host;  // an IP address; a name if they announce names
    int port = 0;

    // Of the server that is meant; not part of the address. The IP address is
    // empty if it is unknown, as where `host` is one.
    ServerId id{};
    std::string ip{};

    bool operator==(const ServerAddress& other) const noexcept
    {
        return host == other.host && port == other.port;
    }
    bool operator!=(const ServerAddress& other) const noexcept
    {
        return !(*this == other);
    }
};

}  // namespace petstore::redis
