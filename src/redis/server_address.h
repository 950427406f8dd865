#pragma once

#include <string>

namespace petstore::redis {

// A server's address as reported by Sentinels or by other servers of its
// Cluster.
struct ServerAddress {
    std::string host;  // an IP address; a name if they announce names
    int port = 0;

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
